"""Validates configs against the schema: validate_schema.py SCHEMA.json CONFIG.yaml...

Exits with 77 where a module is missing, with 1 and the reasons where a config that should pass does not, or where one
of the broken variants that are made here does."""

import copy
import json
import sys

try:
    import jsonschema
    import yaml
except ImportError as reason:
    print("skipped:", reason)
    sys.exit(77)


def broken(config):
    """Variants of a config with one mistake each."""

    def variant(change):
        other = copy.deepcopy(config)
        change(other)
        return other

    yield "an unknown key", variant(lambda c: c.update(grpah=[]))
    yield "no outputs", variant(lambda c: c.pop("outputs"))
    yield "an unknown op", variant(lambda c: c["graph"][0].update(op="sofmax"))
    yield "an unknown attribute", variant(lambda c: c["graph"][0].update(axs=1))
    yield "neither op nor block", variant(lambda c: c["graph"][0].pop("op"))
    yield "an unknown role", variant(lambda c: c["graph"][0].update(inputs={"qqq": "x"}))
    yield "too many inputs", variant(lambda c: c["graph"][0].update(inputs=["x"] * 9))
    yield "an unknown dtype", variant(lambda c: c["inputs"].update(z={"shape": [1], "dtype": "f64"}))
    yield "two sources", variant(lambda c: c["inputs"].update(z={"shape": [1], "default": {"fill": 1, "file": "x"}}))
    yield "a bad name", variant(lambda c: c["inputs"].update({"a.b": {"shape": [1]}}))
    yield "a choice that is none", variant(
        lambda c: c["graph"].append({"name": "g", "op": "gelu", "inputs": ["x"], "form": "erff"})
    )
    yield "a missing attribute", variant(lambda c: c["graph"].append({"name": "g", "op": "softcap", "inputs": ["x"]}))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    failures = 0
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            config = yaml.safe_load(file)
        for error in validator.iter_errors(config):
            print(f"{path}: {list(error.absolute_path)}: {error.message[:200]}")
            failures += 1
        if "op" not in config["graph"][0]:
            continue
        for name, variant in broken(config):
            if validator.is_valid(variant):
                print(f"{path}: {name} goes unnoticed")
                failures += 1
    return 1 if failures > 0 else 0


sys.exit(main())
