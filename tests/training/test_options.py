import numpy as np
import pytest

from unbraid.errors import RunError, SpecError
from unbraid.training.options import TrainingOptions, recorded_options


@pytest.mark.parametrize("given", [[5, 2, 5], (2, 5), {2, 5}, np.array([5, 2]), iter([2, 5])])
def test_steps_are_in_order_and_each_once(given):
    assert TrainingOptions(snapshots=given).snapshots == (2, 5)


def test_one_step_need_not_be_a_list():
    assert TrainingOptions(snapshots=7).snapshots == (7,)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("force", "no"),
        ("stream", "auto"),
        ("deterministic", 3),
        ("keep_state", None),
        ("checkpoint_every", True),
        ("held_out_every", 0),
    ],
)
def test_a_value_of_another_type_is_refused(name, given):
    with pytest.raises(SpecError, match=f"{name} is {given!r}"):
        TrainingOptions(**{name: given})
    assert TrainingOptions(force=np.True_, stream=None).force is True


@pytest.mark.parametrize("given", [0, [-1], [2.5], "1000", [None], True, [True]])
def test_what_is_no_step_is_refused(given):
    with pytest.raises(SpecError, match=r"\[1000, 5000\]"):
        TrainingOptions(snapshots=given)


def test_a_snapshot_beyond_the_end_is_refused():
    TrainingOptions(snapshots=(3, 10)).check(10)
    with pytest.raises(SpecError, match="step 11"):
        TrainingOptions(snapshots=(3, 11)).check(10)


def test_what_is_asked_for_later_is_added_to_what_was_asked_for_before(tmp_path):
    assert recorded_options(tmp_path) == TrainingOptions()
    TrainingOptions(snapshots=[5], keep_state=True).record(tmp_path)
    TrainingOptions(snapshots=[2]).record(tmp_path)
    assert recorded_options(tmp_path) == TrainingOptions(snapshots=(2, 5), keep_state=True)


def test_nothing_is_written_where_nothing_is_asked_for(tmp_path):
    TrainingOptions().record(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_changed_file_is_refused(tmp_path):
    TrainingOptions(snapshots=[5]).record(tmp_path)
    path = tmp_path / "extras.json"
    path.write_text(path.read_text().replace("5", "6"))
    with pytest.raises(RunError, match=r"extras\.json cannot"):
        recorded_options(tmp_path)
