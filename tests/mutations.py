"""Random, seeded mutations of files: bytes, rows, columns, keys, types, members; each describes what it changed."""

import csv
import io
import json
import random
import tarfile
import unicodedata
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

TEXTS = (
    "", " ", "nan", "inf", "-1", "0", "1.5", "1e308", "-1e308", "1e5", "0x10", "true", "False", "None", "null", "NaN",
    "99999999999999999999", "9" * 400, "a" * 3000, "\u0661\u0662", "caf\u00e9", "cafe\u0301", "\uff23\uff21\uff34",
    "CAT", " cat ", "cat;dog", "cat dog", "c\x00at", "c\nat", "\u202etac", "\U0001f415", "=1+1", '"',
    "99999-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "2020-13-45T00:00:00", "2019-12-19T10:00:00",
    "../../etc/passwd", "/", "100%", "50",
)  # fmt: skip
VALUES = (
    None, True, False, 0, -1, 7, 2**31, 2**63, 2**70, -(2**63), 10**400, 0.5, 1e308, -1e308, 1e-320, [], {}, [[]], [{}],
    [None], {"correct": ["cat"]}, *TEXTS,
)  # fmt: skip
TYPES = (
    pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.int8(), pa.int64(), pa.uint64(), pa.float16(),
    pa.float64(), pa.bool_(), pa.null(), pa.date32(), pa.timestamp("ns"), pa.timestamp("s"), pa.duration("s"),
    pa.decimal128(38, 2), pa.dictionary(pa.int32(), pa.string()), pa.list_(pa.string()), pa.large_list(pa.int64()),
    pa.struct([("a", pa.string())]),
)  # fmt: skip
DTYPES = (
    "float16", "float32", ">f8", "longdouble", "complex64", "int8", "uint64", ">i4", "bool", "U7", "S7", "O", "M8[s]",
    "m8[s]", "V4",
)  # fmt: skip


class Effect(Enum):
    """What a mutation may change in a result without a note."""

    VALUE = "a value, since the file contains another one"
    STRUCTURE = "nothing: the file is rejected, the result is the same, or a note says what was done"


@dataclass(frozen=True)
class Mutated:
    """A mutated file, and a description of the mutation."""

    content: bytes
    what: str
    effect: Effect


Mutation = Callable[[bytes, random.Random], Mutated | None]


def value(content: bytes, what: str) -> Mutated:
    return Mutated(content, what, Effect.VALUE)


def structure(content: bytes, what: str) -> Mutated:
    return Mutated(content, what, Effect.STRUCTURE)


def misspelled(name: str, rng: random.Random) -> str:
    """A name with a letter omitted or doubled, in another case, with surrounding spaces, or another name."""
    place = rng.randrange(len(name) or 1)
    return rng.choice((
        name[:place] + name[place + 1 :], name[:place] + name[place : place + 1] + name[place:], name.upper(),
        f" {name} ", f"{name}s", f"{name}_2", "", "split", unicodedata.normalize("NFD", name + "\u00e9"),
    ))  # fmt: skip


# Bytes of any file


def flip_bits(content: bytes, rng: random.Random) -> Mutated:
    damaged = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 3, 20))):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return value(bytes(damaged), "bits flipped")


def cut_end(content: bytes, rng: random.Random) -> Mutated:
    return value(content[: rng.randrange(len(content))], "end cut off")


def cut_piece(content: bytes, rng: random.Random) -> Mutated:
    first, last = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    last = min(last, first + rng.choice((1, 4, 64)))
    return value(content[:first] + content[last:], "piece cut out")


def repeat_piece(content: bytes, rng: random.Random) -> Mutated:
    first, last = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    return value(content[:last] + content[first:last] + content[last:], "piece repeated")


def insert_bytes(content: bytes, rng: random.Random) -> Mutated:
    place = rng.randrange(len(content) + 1)
    odd = rng.choice((b"\x00", b"\xff", b"\r", b"\n", b'"', b",", b"\xef\xbb\xbf", b"\xed\xa0\x80", rng.randbytes(8)))
    return value(content[:place] + odd + content[place:], f"{odd!r} inserted")


def zero_piece(content: bytes, rng: random.Random) -> Mutated:
    place = rng.randrange(len(content))
    length = min(rng.choice((1, 8, 64)), len(content) - place)
    return value(content[:place] + bytes(length) + content[place + length :], "piece zeroed")


def append_garbage(content: bytes, rng: random.Random) -> Mutated:
    return value(content + rng.choice((b"\x00", b"garbage", b"\n\n", rng.randbytes(40))), "garbage appended")


BYTES: tuple[Mutation, ...] = (
    flip_bits, cut_end, cut_piece, repeat_piece, insert_bytes, zero_piece, append_garbage
)  # fmt: skip


# Text


def other_encoding(content: bytes, rng: random.Random) -> Mutated:
    encoding = rng.choice(("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252"))
    return structure(content.decode().encode(encoding, errors="replace"), f"encoded as {encoding}")


def other_newlines(content: bytes, rng: random.Random) -> Mutated:
    lines = content.decode().splitlines()
    ends = [rng.choice(("\n", "\r\n", "\r\n")) for _ in lines]
    changed = "".join(map("".join, zip(lines, ends, strict=True))).encode()
    # within quotes a line end is content
    return Mutated(changed, "mixed line ends", Effect.VALUE if b'"' in content else Effect.STRUCTURE)


TEXT: tuple[Mutation, ...] = (other_encoding, other_newlines)


# CSV and TSV


def _rows(content: bytes) -> tuple[list[list[str]], str]:
    separator = "\t" if b"\t" in content.partition(b"\n")[0] else ","
    return list(csv.reader(io.StringIO(content.decode(), newline=""), delimiter=separator)), separator


def _csv(rows: list[list[str]], separator: str) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=separator, lineterminator="\n").writerows(rows)
    return file.getvalue().encode()


def csv_cell(content: bytes, rng: random.Random) -> Mutated:
    rows, separator = _rows(content)
    row, text = rng.randrange(1, len(rows)), rng.choice(TEXTS)
    column = rng.randrange(len(rows[row]))
    rows[row][column] = text
    return value(_csv(rows, separator), f"cell {row}, {column} is {text[:40]!r}")


def csv_column_cells(content: bytes, rng: random.Random) -> Mutated:
    rows, separator = _rows(content)
    column, text = rng.randrange(len(rows[0])), rng.choice(TEXTS)
    for row in rows[1:]:
        row[column] = text
    return value(_csv(rows, separator), f"all of column {column} is {text[:40]!r}")


def csv_columns(content: bytes, rng: random.Random) -> Mutated:
    rows, separator = _rows(content)
    column = rng.randrange(len(rows[0]))
    what = rng.choice(("dropped", "repeated", "renamed", "added", "moved"))
    new_name = misspelled(rows[0][column], rng)
    for number, row in enumerate(rows):
        cell = row[column]
        if what in ("dropped", "moved"):
            del row[column]
        if what in ("moved", "repeated"):
            row.append(cell)
        elif what == "added":
            row.append("split" if number == 0 else rng.choice(("a", "b", "7", "")))
        elif what == "renamed" and number == 0:
            row[column] = new_name
    return structure(_csv(rows, separator), f"column {column} {what} {new_name if what == 'renamed' else ''}")


def csv_rows(content: bytes, rng: random.Random) -> Mutated:
    rows, separator = _rows(content)
    row = rng.randrange(len(rows))
    what = rng.choice(("dropped", "repeated", "made longer", "made shorter", "emptied", "moved to the end"))
    match what:
        case "dropped":
            del rows[row]
        case "repeated":
            rows.append(rows[row])
        case "made longer":
            rows[row] = [*rows[row], "x"]
        case "made shorter":
            rows[row] = rows[row][:-1]
        case "emptied":
            rows[row] = [""] * len(rows[row])
        case "moved to the end":
            rows.append(rows.pop(row))
    return structure(_csv(rows, separator), f"row {row} {what}")


def csv_quotes(content: bytes, rng: random.Random) -> Mutated:
    lines = content.decode().split("\n")
    place = rng.randrange(max(len(lines) - 1, 1))
    lines[place] = lines[place].replace(",", ',"', 1)
    return structure("\n".join(lines).encode(), f"quote opened on line {place + 1}")


CSV: tuple[Mutation, ...] = (csv_cell, csv_column_cells, csv_columns, csv_columns, csv_rows, csv_quotes)


# JSON


@dataclass(frozen=True)
class _Place:
    """A value within JSON: its container, and its key or index there."""

    holder: list | dict
    key: str | int


def _places(content: object) -> list[_Place]:
    keys = content if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
    own = [_Place(content, key) for key in keys]
    return own + [place for each in own for place in _places(each.holder[each.key])]


_TWICE = "stands twice"


def _dumped(content: object) -> bytes:
    """JSON, in which a key with the suffix `_TWICE` becomes a duplicate key."""
    return json.dumps(content, ensure_ascii=True).replace(_TWICE, "").encode()


def json_value(content: bytes, rng: random.Random) -> Mutated | None:
    parsed = json.loads(content)
    if not (places := _places(parsed)):
        return None
    place, new = rng.choice(places), rng.choice(VALUES)
    place.holder[place.key] = new
    return value(_dumped(parsed), f"{place.key!r} is {repr(new)[:60]}")


def json_keys(content: bytes, rng: random.Random) -> Mutated | None:
    parsed = json.loads(content)
    if not (places := [place for place in _places(parsed) if isinstance(place.holder, dict)]):
        return None
    place, what = rng.choice(places), rng.choice(("dropped", "renamed", "repeated", "added"))
    old = place.holder[place.key]
    new_name = misspelled(str(place.key), rng)
    if what in ("dropped", "renamed"):
        del place.holder[place.key]
    if what == "renamed":
        place.holder[new_name] = old
    elif what == "repeated":
        place.holder[f"{place.key}{_TWICE}"] = rng.choice((old, None, "cat", ["dog"], {}))
    elif what == "added":
        place.holder["width"] = rng.choice((7, "a", None))
    return structure(_dumped(parsed), f"key {place.key!r} {what} {new_name if what == 'renamed' else ''}")


def json_entries(content: bytes, rng: random.Random) -> Mutated | None:
    parsed = json.loads(content)
    if not (places := [place for place in _places(parsed) if isinstance(place.holder, list)]):
        return None
    place, what = rng.choice(places), rng.choice(("dropped", "repeated"))
    if what == "dropped":
        del place.holder[place.key]
    else:
        place.holder.append(place.holder[place.key])
    return structure(_dumped(parsed), f"entry {place.key} {what}")


def json_shape(content: bytes, rng: random.Random) -> Mutated:
    parsed = json.loads(content)
    what = rng.choice(("in a list", "in an object", "nested deeply", "with NaN", "with a comma too many", "as text"))
    match what:
        case "in a list":
            return structure(_dumped([parsed]), what)
        case "in an object":
            return structure(_dumped({"data": parsed}), what)
        case "nested deeply":
            depth = rng.choice((100, 900, 100_000))
            return structure(b"[" * depth + content + b"]" * depth, what)
        case "with NaN":
            return structure(content.replace(b"1", b"NaN", 1), what) if b"1" in content else value(content, what)
        case "with a comma too many":
            return structure(content.rstrip()[:-1] + b"," + content.rstrip()[-1:], what)
    return structure(_dumped(content.decode()), what)


JSON: tuple[Mutation, ...] = (json_value, json_value, json_keys, json_keys, json_entries, json_shape)


def json_line(content: bytes, rng: random.Random) -> Mutated | None:
    lines = content.decode().splitlines()
    place = rng.randrange(len(lines))
    mutated = rng.choice((json_value, json_keys, json_shape))(lines[place].encode(), rng)
    if mutated is None:
        return None
    lines[place] = mutated.content.decode()
    return Mutated("\n".join(lines).encode(), f"line {place + 1}: {mutated.what}", mutated.effect)


def json_lines(content: bytes, rng: random.Random) -> Mutated:
    lines = content.decode().splitlines()
    place = rng.randrange(len(lines))
    what = rng.choice(("dropped", "repeated", "with a comma", "blank", "not an object"))
    match what:
        case "dropped":
            del lines[place]
        case "repeated":
            lines.append(lines[place])
        case "with a comma":
            lines[place] += ","
        case "blank":
            lines.insert(place, "")
        case "not an object":
            lines[place] = rng.choice(("[]", "1", '"p0"', "null"))
    return structure("\n".join(lines).encode(), f"line {place + 1} {what}")


JSON_LINES: tuple[Mutation, ...] = (json_line, json_line, json_lines)


# Parquet


def _parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def parquet_columns(content: bytes, rng: random.Random) -> Mutated:
    table = pq.read_table(io.BytesIO(content))
    place = rng.randrange(table.num_columns)
    name, column = table.column_names[place], table.column(place)
    what = rng.choice(("dropped", "repeated", "renamed", "added", "moved"))
    names = list(table.column_names)
    match what:
        case "dropped":
            table = table.remove_column(place)
        case "repeated":
            table = table.append_column(name, column)
        case "renamed":
            names[place] = misspelled(name, rng)
            table = table.rename_columns(names)
        case "added":
            table = table.append_column("split", pa.array(["a"] * len(table)))
        case "moved":
            table = table.remove_column(place).append_column(name, column)
    return structure(_parquet(table), f"column {name} {what} {names[place] if what == 'renamed' else ''}")


def parquet_type(content: bytes, rng: random.Random) -> Mutated | None:
    table = pq.read_table(io.BytesIO(content))
    place, kind = rng.randrange(table.num_columns), rng.choice(TYPES)
    name, column = table.column_names[place], table.column(place)
    try:
        table = table.set_column(place, name, column.cast(kind, safe=False))
        return value(_parquet(table), f"column {name} as {kind}")
    except (pa.ArrowException, ValueError):
        if not pa.types.is_list(kind) and not pa.types.is_null(kind):
            return None
    nested = pa.nulls(len(table)) if pa.types.is_null(kind) else pa.array([[cell] for cell in column.to_pylist()])
    return value(_parquet(table.set_column(place, name, nested)), f"column {name} as {nested.type}")


def parquet_rows(content: bytes, rng: random.Random) -> Mutated:
    table = pq.read_table(io.BytesIO(content))
    what = rng.choice(("dropped", "repeated", "none", "reversed", "with no columns"))
    match what:
        case "dropped":
            return structure(_parquet(table.slice(1)), "first row dropped")
        case "repeated":
            return structure(_parquet(pa.concat_tables([table, table.slice(0, 1)])), "first row repeated")
        case "none":
            return structure(_parquet(table.slice(0, 0)), "no rows")
        case "reversed":
            return structure(_parquet(table.take(list(range(len(table)))[::-1])), "rows reversed")
    return structure(_parquet(table.select([])), what)


def parquet_cell(content: bytes, rng: random.Random) -> Mutated | None:
    table = pq.read_table(io.BytesIO(content))
    place = rng.randrange(table.num_columns)
    column = table.column(place)
    cells = column.to_pylist()
    cells[rng.randrange(len(cells))] = new = rng.choice(VALUES)
    try:
        changed = pa.array(cells, column.type)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return None
    table = table.set_column(place, table.column_names[place], changed)
    return value(_parquet(table), f"a cell of {table.column_names[place]} is {repr(new)[:60]}")


PARQUET: tuple[Mutation, ...] = (
    parquet_columns,
    parquet_columns,
    parquet_type,
    parquet_type,
    parquet_rows,
    parquet_cell,
)


# Arrays


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def _array_of(content: bytes) -> np.ndarray:
    return np.load(io.BytesIO(content))


def array_type(content: bytes, rng: random.Random) -> Mutated | None:
    kind = rng.choice(DTYPES)
    try:
        with np.errstate(all="ignore"):
            array = np.zeros(_array_of(content).shape, kind) if kind == "V4" else _array_of(content).real.astype(kind)
    except (ValueError, TypeError, OverflowError):
        return None
    return value(_npy(array), f"as {kind}")


def array_shape(content: bytes, rng: random.Random) -> Mutated:
    array = _array_of(content)
    what, reshaped = rng.choice((
        ("transposed", array.T), ("with an axis more", array[None]), ("with an axis less", array[0]),
        ("without rows", array[:0]), ("one row less", array[1:]), ("a row twice", np.concatenate([array, array[:1]])),
        ("of no dimension", array.ravel()[0]), ("flat", array.ravel()),
    ))  # fmt: skip
    return structure(_npy(np.asarray(reshaped)), what)


def array_values(content: bytes, rng: random.Random) -> Mutated:
    array = _array_of(content).copy()
    if array.dtype.kind in "SU":
        number = rng.choice(("", "p1", "\u00e9"))
        number = number.encode() if array.dtype.kind == "S" else number
    else:
        number = rng.choice((np.nan, np.inf, -np.inf, -1, 1e38, 0, 99) if array.dtype.kind == "f" else (0, 1, 99, 127))
    array.ravel()[rng.randrange(array.size)] = number
    if rng.random() < 0.3:
        array[...] = number
    return value(_npy(array), f"with {number!r}")


def array_header(content: bytes, rng: random.Random) -> Mutated:
    shape = rng.choice(
        ("(1000000000000,)", "(-6, 10)", "(6,)", "()", "(0, 10)", "(6, 10, 10)", "(3, 10)", f"({'9' * 40},)")
    )
    start, end = content.index(b"'shape': ") + 9, content.index(b"}", content.index(b"'shape': "))
    header = content[:start] + shape.encode() + b", " + content[end:]
    length = int.from_bytes(content[8:10], "little") + len(header) - len(content)
    return structure(header[:8] + length.to_bytes(2, "little") + header[10:], f"shape {shape} declared")


NPY: tuple[Mutation, ...] = (array_type, array_shape, array_values, array_header)


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zip(members: list[tuple[str, bytes]]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def npz_member(content: bytes, rng: random.Random) -> Mutated | None:
    members = _members(content)
    name = rng.choice(list(members))
    mutated = rng.choice(NPY)(members[name], rng)
    if mutated is None:
        return None
    return Mutated(_zip(list((members | {name: mutated.content}).items())), f"{name} {mutated.what}", mutated.effect)


def npz_members(content: bytes, rng: random.Random) -> Mutated:
    members = list(_members(content).items())
    place = rng.randrange(len(members))
    name, array = members[place]
    what = rng.choice(("dropped", "renamed", "added", "not an array", "repeated"))
    match what:
        case "dropped":
            del members[place]
        case "renamed":
            members[place] = (misspelled(name.removesuffix(".npy"), rng) + ".npy", array)
        case "added":
            members.append(("width.npy", _npy(np.arange(3))))
        case "not an array":
            members.append(("README.txt", b"hello"))
        case "repeated":
            file = io.BytesIO()
            with zipfile.ZipFile(file, "w") as archive:
                for each, data in [*members, (f"x{name[1:]}", array)]:
                    archive.writestr(zipfile.ZipInfo(each), data)
            return structure(file.getvalue().replace(f"x{name[1:]}".encode(), name.encode()), f"{name} twice")
    return structure(_zip(members), f"{name} {what} {members[place][0] if what == 'renamed' else ''}")


NPZ: tuple[Mutation, ...] = (npz_member, npz_member, npz_members)


# Tar


def tar_members(content: bytes, rng: random.Random) -> Mutated:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        members = [(info, archive.extractfile(info).read()) for info in archive]
    place = rng.randrange(len(members))
    info, data = members[place]
    ways = ("dropped", "repeated", "absolute", "above", "link", "device", "renamed", "sparse", "avif", "text", "bare")
    what = rng.choice(ways)
    match what:
        case "dropped":
            del members[place]
        case "repeated":
            members.append(members[place])
        case "absolute":
            info.name = f"/{info.name}"
        case "above":
            info.name = f"../../{info.name}"
        case "link":
            info.type, info.linkname, data = tarfile.SYMTYPE, "elsewhere", b""
        case "device":
            info.type, data = tarfile.CHRTYPE, b""
        case "renamed":
            info.name = misspelled(info.name, rng)
        case "sparse":
            info.type = tarfile.GNUTYPE_SPARSE
        case "avif" | "text" | "bare":
            info.name = {"avif": "z.avif", "text": "z.txt", "bare": "z"}[what]
    info.size = len(data)
    if what not in ("dropped", "repeated"):
        members[place] = (info, data)
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for each, own in members:
            archive.addfile(each, io.BytesIO(own))
    return structure(file.getvalue(), f"{info.name} {what}")


TAR: tuple[Mutation, ...] = (tar_members,)


def mutated(content: bytes, mutations: tuple[Mutation, ...], seed: str) -> Mutated:
    """A random mutation of a file; if a mutation is not applicable, another one is drawn."""
    rng = random.Random(seed)
    for _ in range(100):
        damaged = rng.choice(mutations)(content, rng)
        if damaged is not None and damaged.content != content:
            return damaged
    raise AssertionError(f"none of these mutations changes the file: {mutations}")
