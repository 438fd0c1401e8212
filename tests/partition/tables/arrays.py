"""Tables of numbers as arrays: `.npy` and `.npz`."""

import numpy as np


def element_type(case, values, kind):
    """A type of numpy that holds all values."""
    draw = case.draw
    if kind == "bool":
        return np.dtype(bool)
    if kind == "float":
        single = all(float(np.float32(value)) == value for value in values)
        chosen = np.dtype(draw.one("f4", "f8") if single else "f8")
    else:
        low, high = min(values, default=0), max(values, default=0)
        fits = [f"i{size}" for size in (1, 2, 4, 8) if -(2 ** (8 * size - 1)) <= low and high < 2 ** (8 * size - 1)]
        fits += [f"u{size}" for size in (1, 2, 4, 8) if 0 <= low and high < 2 ** (8 * size)]
        chosen = np.dtype(draw.one("i8", draw.choice(fits)))
    if case.unusual("big-endian"):
        chosen = chosen.newbyteorder(">")
    return chosen


def write_array(case, stem, name, array, beside=()):
    """Writes an array; in an archive, under its name and beside others. Returns the name of the file."""
    draw = case.draw
    if array.ndim > 1 and case.unusual("Fortran order", 0.08):
        array = np.asfortranarray(array)
    if draw.chance(0.6):
        file = stem + draw.one(".npy", ".npy", ".array")
        with open(case.path(file), "wb") as opened:
            version = draw.one((1, 0), (2, 0), (3, 0)) if draw.chance(0.2) else None
            np.lib.format.write_array(opened, array, version)
        return file
    save = draw.one(np.savez, np.savez_compressed)
    file = stem + ".npz"
    arrays = {name: array}
    for other in beside:
        arrays[other] = np.arange(draw.randint(0, 5))
    keys = list(arrays)
    draw.shuffle(keys)
    save(case.path(file), **{key: arrays[key] for key in keys})
    return file
