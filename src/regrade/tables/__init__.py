"""Reading users' tables and arrays, and checking them against a class space and a test set."""

from regrade.tables.array_files import ARRAY_SUFFIXES, ArrayFile, DeclaredArray, open_arrays
from regrade.tables.class_columns import Reading, class_index, class_indices, one_class_per_row
from regrade.tables.csv_text import check_quotes, parse_csv
from regrade.tables.examples import (
    ID_COLUMNS,
    LABEL_COLUMNS,
    Columns,
    Examples,
    check_ids,
    check_labels,
    check_unique,
    column_named,
    read_examples,
    refuse_other_labels,
    rows_of,
    texts,
)
from regrade.tables.files import TABLE_SUFFIXES, is_list, is_text, read_json_rows, read_table
from regrade.tables.ignored_columns import ignored_columns, ignored_names, skipped_files
from regrade.tables.number_columns import number_array
from regrade.tables.text_columns import packed_column, shared_column, text_array
from regrade.tables.text_files import check_file, errors_with_path, first_line, read_json, read_text, why_unreadable

__all__ = [
    "ARRAY_SUFFIXES",
    "ID_COLUMNS",
    "LABEL_COLUMNS",
    "TABLE_SUFFIXES",
    "ArrayFile",
    "Columns",
    "DeclaredArray",
    "Examples",
    "Reading",
    "check_file",
    "check_ids",
    "check_labels",
    "check_quotes",
    "check_unique",
    "class_index",
    "class_indices",
    "column_named",
    "errors_with_path",
    "first_line",
    "ignored_columns",
    "ignored_names",
    "is_list",
    "is_text",
    "number_array",
    "one_class_per_row",
    "open_arrays",
    "packed_column",
    "parse_csv",
    "read_examples",
    "read_json",
    "read_json_rows",
    "read_table",
    "read_text",
    "refuse_other_labels",
    "rows_of",
    "shared_column",
    "skipped_files",
    "text_array",
    "texts",
    "why_unreadable",
]
