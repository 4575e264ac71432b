"""The tables that people bring: read, and held against a class space and a test set."""

from regrade.tables.class_columns import Reading, class_indices, one_class_each
from regrade.tables.examples import (
    ID_COLUMNS,
    LABEL_COLUMNS,
    Columns,
    Examples,
    check_unique,
    read_examples,
    rows_of,
    texts,
)
from regrade.tables.files import (
    TABLE_SUFFIXES,
    check_file,
    first_line,
    is_list,
    is_text,
    read_json,
    read_table,
)
from regrade.tables.number_columns import number_array
from regrade.tables.text_columns import packed_column, shared_column, text_array

__all__ = [
    "ID_COLUMNS",
    "LABEL_COLUMNS",
    "TABLE_SUFFIXES",
    "Columns",
    "Examples",
    "Reading",
    "check_file",
    "check_unique",
    "class_indices",
    "first_line",
    "is_list",
    "is_text",
    "number_array",
    "one_class_each",
    "packed_column",
    "read_examples",
    "read_json",
    "read_table",
    "rows_of",
    "shared_column",
    "text_array",
    "texts",
]
