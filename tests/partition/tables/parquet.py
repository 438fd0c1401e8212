"""Tables as Parquet: by pyarrow, pandas and polars."""

import datetime
import decimal

import pandas
import polars
import pyarrow
import pyarrow.parquet

CODECS = ["snappy", "snappy", "none", "zstd"]
ODD_CODECS = ["gzip", "brotli", "lz4"]


def write_parquet(case, stem, table, index=False):
    """Writes a table and returns the name of the file or folder."""
    draw = case.draw
    codec = draw.choice(CODECS)
    if case.unusual("another codec of Parquet"):
        codec = draw.choice(ODD_CODECS)
    name = stem + draw.one(".parquet", ".pq", ".parquet", "")
    if index:
        return by_pandas(case, name, table, codec, index)
    if len(table) > 1 and case.unusual("folder of Parquet files", 0.05):
        return parts(case, stem, table, codec)
    return draw.choice([by_arrow, by_arrow, by_pandas, by_polars])(case, name, table, codec, False)


def arrow_type(case, column):
    """A type of Arrow that holds all values of a column."""
    draw = case.draw
    values = [value for value in column.values if value is not None]
    if column.kind == "int":
        low, high = min(values, default=0), max(values, default=0)
        fits = [f"int{bits}" for bits in (8, 16, 32, 64) if -(2 ** (bits - 1)) <= low and high < 2 ** (bits - 1)]
        fits += [f"uint{bits}" for bits in (8, 16, 32, 64) if 0 <= low and high < 2**bits]
        if case.unusual("decimals in Parquet", 0.04):
            return pyarrow.decimal128(20, draw.one(0, 2))
        return draw.one("int64", draw.choice(fits))
    if column.kind == "float":
        if all(abs(value) < 6e4 and float(value) == int(value) for value in values) and case.unusual("float16"):
            return "float16"
        single = all(value == pyarrow.scalar(value, "float32").as_py() for value in values)
        return draw.one("float64", "float32") if single else "float64"
    if column.kind == "bool":
        return "bool"
    if column.kind in ("text", "mixed"):
        if case.unusual("dictionary of strings", 0.1, refusable=False):
            return pyarrow.dictionary(draw.one("int8", "int32"), "string")
        return draw.one("string", "string", "large_string")
    if column.kind == "date":
        return draw.one("date32", pyarrow.timestamp("ns"))
    if column.kind == "time":
        return pyarrow.timestamp(draw.one("s", "ms", "us", "ns"), tz=draw.one(None, None, "UTC"))
    width = len(values[0]) if draw.chance(0.3) else -1
    return pyarrow.list_(pyarrow.float64(), width)


def array(case, column):
    kind = arrow_type(case, column)
    if isinstance(kind, str):
        kind = pyarrow.type_for_alias(kind)
    values = column.values
    if pyarrow.types.is_decimal(kind):
        values = [None if value is None else decimal.Decimal(value) for value in values]
    if pyarrow.types.is_float16(kind):
        import numpy
        values = [None if value is None else numpy.float16(value) for value in values]
    if pyarrow.types.is_timestamp(kind) and column.kind == "date":
        values = [None if value is None else datetime.datetime.combine(value, datetime.time()) for value in values]
    return pyarrow.array(values, kind)


def by_arrow(case, name, table, codec, _):
    draw = case.draw
    fields = [column.name for column in table.columns]
    arrays = [array(case, column) for column in table.columns]
    written = pyarrow.Table.from_arrays(arrays, fields)
    pyarrow.parquet.write_table(
        written, case.path(name), compression=codec, row_group_size=draw.one(None, 1, 3),
        version=draw.one("1.0", "2.4", "2.6") if not any(column.kind == "time" for column in table.columns) else "2.6",
        data_page_version=draw.one("1.0", "2.0"),
        use_dictionary=draw.chance(0.6), write_statistics=draw.chance(0.7), store_schema=draw.chance(0.8),
        use_deprecated_int96_timestamps=any(column.kind == "time" for column in table.columns) and case.unusual("INT96", 0.2))
    return name


def by_pandas(case, name, table, codec, index):
    frame = pandas.DataFrame({column.name: pandas.Series(column.values, dtype=nullable(case, column)) for column in table.columns})
    if index:
        frame.index = range(3, 3 + len(frame)) if index == "range" else list(range(len(frame)))[::-1]
    frame.to_parquet(case.path(name), compression=None if codec == "none" else codec, index=bool(index))
    return name


def nullable(case, column):
    """A type of pandas for the values."""
    if column.kind == "int":
        return "Int64" if column.has_missing() or case.draw.chance(0.2) else "int64"
    if column.kind == "text":
        return case.draw.one("category", "string", "object")
    if column.kind == "bool":
        return "boolean" if column.has_missing() else "bool"
    return "float64" if column.kind == "float" else "object"


def by_polars(case, name, table, codec, _):
    draw = case.draw
    series = []
    for column in table.columns:
        made = polars.Series(column.name, column.values, strict=False)
        if column.kind == "text" and draw.chance(0.2):
            made = made.cast(polars.Categorical)
        series.append(made)
    codec = {"none": "uncompressed"}.get(codec, codec)
    polars.DataFrame(series).write_parquet(case.path(name), compression=codec, row_group_size=draw.one(None, 2),
                                           statistics=draw.chance(0.5))
    return name


def parts(case, stem, table, codec):
    """A folder with the rows of a table in several files, in this order."""
    import os
    folder = case.path(stem)
    os.makedirs(folder)
    arrays = pyarrow.Table.from_arrays([array(case, column) for column in table.columns], table.names())
    cut = case.draw.randint(1, len(table) - 1)
    for at, rows in enumerate([arrays.slice(0, cut), arrays.slice(cut)]):
        pyarrow.parquet.write_table(rows, os.path.join(folder, f"part-{at:05}.parquet"), compression=codec)
    if case.draw.chance(0.3):
        open(os.path.join(folder, "_SUCCESS"), "w").close()
    return stem
