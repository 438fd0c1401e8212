"""Tables as text: by csv, pandas, polars, pyarrow and numpy, then encoded and compressed."""

import bz2
import csv
import gzip
import io
import lzma
import zipfile

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.csv
import zstandard

MISSING = ["", "", "", "NA", "NaN", "nan", "null", "None", "N/A"]
ODD_MISSING = ["?", "-", "#N/A", "NULL", "<NA>", "\\N", ".", "missing"]


def write_text(case, stem, table, index=False):
    """Writes a table and returns the name of the file; with `index`, as pandas does by default."""
    draw = case.draw
    writers = [by_csv, by_pandas]
    if table.named and not index:
        writers += [by_polars, by_arrow]
    if table.is_numeric() and not index and not table.named:
        writers.append(by_numpy)
    if index:
        writers = [by_pandas]
    text = draw.choice(writers)(case, table, index)
    if draw.chance(0.15):
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    if draw.chance(0.1):
        text = text.rstrip("\r\n")
    if first_field(text).startswith(("#", "%")):
        case.may_refuse("a first line that may be a comment")
    elif draw.chance(0.1):
        text = draw.one("# made by hand\n", "% made by hand\n", "#\n", "# a: b\n#\n") + text
    return store(case, stem, text)


def first_field(text):
    return text.lstrip()[:1]


def store(case, stem, text):
    """Encodes and compresses a text."""
    draw = case.draw
    if case.unusual("UTF-16"):
        data = text.encode(draw.one("utf-16", "utf-16-le", "utf-16-be"))
    elif case.unusual("Latin-1", 0.02) and not text.isascii() and max(text) <= "\xff":
        data = text.encode("latin-1")
    else:
        data = text.encode("utf-8-sig" if draw.chance(0.08) else "utf-8")
    name = stem + draw.one(".csv", ".txt", ".tsv", ".dat", "")
    if draw.chance(0.08):
        name, data = name + ".gz", gzip.compress(data)
    elif case.unusual("another compression"):
        form = draw.one("bz2", "xz", "zst", "zip", "lzma")
        name = name + "." + form
        data = {"bz2": bz2.compress, "xz": lzma.compress, "zst": zstandard.compress, "zip": lambda data: zipped(stem, data),
                "lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE)}[form](data)
    with open(case.path(name), "wb") as file:
        file.write(data)
    return name


def zipped(stem, data):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(stem + ".csv", data)
    return memory.getvalue()


def separator(case, table):
    """A separator; white space only where no value has or is any."""
    texts = [str(value) for column in table.columns for value in column.values if value is not None]
    texts += table.names() if table.named else []
    plain = all(text and not set(text) & set(" \t,;|\"#'") for text in texts)
    plain = plain and not any(column.has_missing() or column.kind == "time" for column in table.columns)
    return case.draw.choice([",", ",", ";", "\t", "|"] + [" "] * plain)


def missing_word(case, table):
    if not any(column.has_missing() for column in table.columns):
        return ""
    # A word is only missing where it is not a value.
    if case.unusual("odd word for missing", 0.1):
        has_words = any(column.kind == "text" and column.has_missing() for column in table.columns)
        return case.draw.choice(ODD_MISSING[:-2] if has_words else ODD_MISSING)
    return case.draw.choice(MISSING)


def written(case, table):
    """The values as text; a truth value, date or list has one form in a file."""
    draw = case.draw
    truth = draw.one(("True", "False"), ("true", "false"), ("TRUE", "FALSE"))
    missing = missing_word(case, table)

    def text(value):
        if value is None:
            return missing
        if isinstance(value, bool):
            return truth[not value]
        return repr(value) if isinstance(value, float) else str(value)

    return [[text(value) for value in row] for row in table.rows()]


def by_csv(case, table, _):
    draw = case.draw
    out = io.StringIO()
    at = separator(case, table)
    rows = written(case, table)
    plain = at == " " or not any('"' in cell or at in cell or "\t" in cell for row in rows for cell in row)
    quoting = csv.QUOTE_NONE if plain and draw.chance(0.3) else draw.one(csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC)
    if at == " ":
        quoting = csv.QUOTE_NONE
    writer = csv.writer(out, delimiter=at, quoting=quoting, lineterminator="\n", quotechar='"')
    if table.named:
        writer.writerow(table.names())
    writer.writerows(rows)
    text = out.getvalue()
    if quoting == csv.QUOTE_NONE and at in ",;|" and case.unusual("blanks around separators", 0.1, refusable=False):
        text = text.replace(at, draw.one(at + " ", " " + at, " " + at + " "))
    if at == " " and draw.chance(0.3):
        text = text.replace(" ", draw.one("  ", "\t ", " \t"))
    if len(table.columns) > 1 and case.unusual("empty lines", 0.05, refusable=False):
        text = text + draw.one("\n", "\n\n", "   \n")
    return text


def by_pandas(case, table, index):
    draw = case.draw
    frame = pandas.DataFrame({column.name: pandas.Series(column.values, dtype=object if column.has_missing() else None)
                              for column in table.columns})
    at = separator(case, table)
    at = "," if at == " " else at
    quoting = draw.one(csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC)
    return frame.to_csv(sep=at, index=index, header=table.named, na_rep=missing_word(case, table), quoting=quoting)


def by_polars(case, table, _):
    draw = case.draw
    frame = polars.DataFrame({column.name: column.values for column in table.columns}, strict=False)
    at = separator(case, table)
    return frame.write_csv(separator="," if at == " " else at, null_value=missing_word(case, table),
                           quote_style=draw.one("necessary", "always", "non_numeric"), include_header=table.named)


def by_arrow(case, table, _):
    sink = io.BytesIO()
    at = separator(case, table)
    options = pyarrow.csv.WriteOptions(delimiter="," if at == " " else at)
    pyarrow.csv.write_csv(pyarrow.table({column.name: column.values for column in table.columns}), sink, options)
    return sink.getvalue().decode()


def by_numpy(case, table, _):
    draw = case.draw
    whole = all(column.kind != "float" for column in table.columns)
    values = np.array([[float(value) for value in row] for row in table.rows()])
    out = io.StringIO()
    np.savetxt(out, values, fmt="%d" if whole else "%.17g", delimiter=draw.one(",", " ", "\t", ";"))
    return out.getvalue()
