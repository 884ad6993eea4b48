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
