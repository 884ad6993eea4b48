import io

from PIL import Image

from benchmarks import jpeg_decoding


def test_faces_have_the_form_of_the_official_ones():
    sizes = []
    for number in range(5):
        content = jpeg_decoding.face(number)
        with Image.open(io.BytesIO(content)) as picture:
            assert (picture.format, picture.mode, picture.size) == ("JPEG", "RGB", (178, 218))
        sizes.append(len(content))
    assert 7_000 < sum(sizes) / len(sizes) < 12_000


def test_every_row_is_printed(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["jpeg_decoding", "--images", "40", "--tries", "1"])
    jpeg_decoding.main()
    assert [line.split(" | ")[0] for line in capsys.readouterr().out.splitlines()[4:]] == [
        "| zip",
        "| zip",
        "| folder",
        "| zip, into the cache",
    ]
