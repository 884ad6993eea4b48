"""Which commit evidence names."""

import subprocess

from unbraid.studies.circumstances import commit_of_checkout


def repository(folder, *files):
    folder.mkdir(parents=True, exist_ok=True)
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("first")
    for command in (
        ("init", "-q"),
        ("add", *files),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"),
    ):
        subprocess.run(["git", "-C", str(folder), *command], check=True, capture_output=True)


def test_a_package_installed_inside_another_repository_has_no_commit(tmp_path):
    repository(tmp_path, "own.py")
    installed = tmp_path / "env" / "site-packages" / "module.py"
    installed.parent.mkdir(parents=True)
    installed.write_text("")
    assert commit_of_checkout(installed) == "unknown"
    assert commit_of_checkout(tmp_path / "own.py") not in ("unknown", "")


def test_uncommitted_changes_are_marked(tmp_path):
    repository(tmp_path, "src/module.py", "src/other.py")
    commit = commit_of_checkout(tmp_path / "src" / "module.py")
    (tmp_path / "src" / "new.txt").write_text("untracked")
    assert commit_of_checkout(tmp_path / "src" / "module.py") == commit
    (tmp_path / "src" / "other.py").write_text("second")
    assert commit_of_checkout(tmp_path / "src" / "module.py") == f"{commit}+changes"
