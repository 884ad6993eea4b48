"""The records of finished runs without arrays, made by hand."""

import hashlib
import json

from unbraid._internal import files


def name_of(letter):
    return f"vae-{letter}-seed0"


def finish(folder, letter, value, *, metrics=("mig",), **more):
    """Writes what a finished run leaves whose metrics have this value."""
    place = folder / name_of(letter)
    place.mkdir(exist_ok=True)
    spec = json.dumps({"digest": letter, "seed": 0})
    (place / "spec.json").write_text(spec)
    sums = {"codes.safetensors": f"codes of {letter}", "spec.json": hashlib.sha256(spec.encode()).hexdigest()}
    (place / "finished.json").write_text(json.dumps({"sha256": sums, "seconds": 2.5, "fleet": ["a", "b"], **more}))
    (place / "weights.safetensors").touch()
    score = {"value": value, "interval": [0.1, None], "parts": {}, "per_factor": {"x": value}, "scoring": {}}
    scores = [{"name": name, **score} for name in metrics]
    record = {"codes": f"codes of {letter}", "num_used": 3, "refused": {"sap": "no labels"}, "scores": scores}
    files.write_sealed(place / "scores.json", record)
    return place.name
