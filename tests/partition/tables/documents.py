"""Tables in formats that hold more than tables: read where that is right, refused by name otherwise."""

import json
import os
import pickle
import sqlite3

import h5py
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.feather
import pyarrow.orc


def write_document(case, stem, table):
    """Writes a table and returns the name of the file."""
    draw = case.draw
    form = draw.choice([json_lines, polars_lines, json_records, json_columns, feather, orc, pickled, hdf5, sqlite, hive, structured])
    return form(case, stem, table)


def frame(table):
    return pandas.DataFrame({column.name: pandas.Series(column.values, dtype=object) for column in table.columns})


def plain(value):
    return value if value is None or isinstance(value, (bool, int, float, str, list)) else str(value)


def records(table):
    return [{name: plain(value) for name, value in zip(table.names(), row)} for row in table.rows()]


def text_file(case, name, text):
    with open(case.path(name), "w", encoding="utf-8") as file:
        file.write(text)
    return name


def json_lines(case, stem, table):
    found = records(table)
    whole = next((at for at, row in enumerate(found) if None not in row.values()), None)
    if whole is not None and case.draw.chance(0.3):
        # Some writers leave out what is missing, and have no order of keys. The first row with all keys has that of the table.
        found = [row if at == whole else {key: row[key] for key in case.draw.sample(list(row), len(row)) if row[key] is not None}
                 for at, row in enumerate(found)]
    return text_file(case, stem + case.draw.one(".jsonl", ".ndjson", ".json"), "".join(json.dumps(row) + "\n" for row in found))


def polars_lines(case, stem, table):
    name = stem + ".ndjson"
    polars.DataFrame({column.name: column.values for column in table.columns}, strict=False).write_ndjson(case.path(name))
    return name


def json_records(case, stem, table):
    return text_file(case, stem + ".json", json.dumps(records(table), indent=case.draw.one(None, 2)))


def json_columns(case, stem, table):
    columns = {column.name: [plain(value) for value in column.values] for column in table.columns}
    return text_file(case, stem + ".json", json.dumps(columns))


def arrow(table):
    return pyarrow.table({column.name: column.values for column in table.columns})


def feather(case, stem, table):
    name = stem + case.draw.one(".feather", ".arrow")
    pyarrow.feather.write_feather(arrow(table), case.path(name))
    return name


def orc(case, stem, table):
    pyarrow.orc.write_table(arrow(table), case.path(stem + ".orc"))
    return stem + ".orc"


def pickled(case, stem, table):
    name = stem + case.draw.one(".pkl", ".pickle", ".pt")
    with open(case.path(name), "wb") as file:
        pickle.dump({column.name: column.values for column in table.columns}, file, protocol=case.draw.one(0, 2, 4))
    return name


def hdf5(case, stem, table):
    with h5py.File(case.path(stem + ".h5"), "w") as file:
        for column in table.columns:
            file[column.name.replace("/", "_")] = [str(value) for value in column.values]
    return stem + ".h5"


def sqlite(case, stem, table):
    with sqlite3.connect(case.path(stem + ".db")) as database:
        frame(table).astype(str).to_sql("edges", database, index=False)
    return stem + ".db"


def hive(case, stem, table):
    """A folder for each value of the first column; the rows are in another order then."""
    if len({str(value) for value in table.columns[-1].values}) != 1:
        return feather(case, stem, table)
    folder = os.path.join(case.path(stem), f"{table.columns[-1].name}={table.columns[-1].values[0]}")
    os.makedirs(folder)
    rows = {column.name: column.values for column in table.columns[:-1]}
    pyarrow.parquet.write_table(pyarrow.table(rows), os.path.join(folder, "part-0.parquet"))
    return stem


def structured(case, stem, table):
    if not table.is_numeric():
        return json_lines(case, stem, table)
    array = np.array([tuple(row) for row in table.rows()], dtype=[(column.name, "f8" if column.kind == "float" else "i8")
                                                                  for column in table.columns])
    np.save(case.path(stem + ".npy"), array)
    return stem + ".npy"
