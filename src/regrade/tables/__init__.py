"""Reading users' tables and arrays, and checking them against a class space and a test set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regrade.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from regrade.tables.any_table import read_any_table
    from regrade.tables.array_files import ARRAY_SUFFIXES, ArrayFile, DeclaredArray, open_arrays
    from regrade.tables.array_inputs import ArrayInput, array_input, class_lists, distinct_values
    from regrade.tables.columns import (
        ClassEncoding,
        Reading,
        class_encoding,
        class_index,
        class_indices,
        ignored_columns,
        ignored_names,
        number_array,
        number_column,
        one_class_per_row,
        packed_column,
        shared_column,
        skipped_files,
        text_array,
    )
    from regrade.tables.example_positions import ExamplePositions
    from regrade.tables.examples import (
        LABEL_COLUMNS,
        Columns,
        Examples,
        check_ids,
        check_labels,
        check_unique,
        column_named,
        optional_texts,
        read_examples,
        refuse_other_labels,
        texts,
    )
    from regrade.tables.files import (
        TABLE_SUFFIXES,
        check_file,
        check_quotes,
        errors_with_path,
        first_line,
        is_list,
        is_text,
        parse_csv,
        read_json,
        read_json_rows,
        read_table,
        read_text,
        why_unreadable,
    )
    from regrade.tables.id_matching import NO_ROW, IdMatch
    from regrade.tables.toml_files import read_toml
    from regrade.tables.torch_files import TORCH_SUFFIXES, open_torch_arrays

__all__ = [
    "ARRAY_SUFFIXES",
    "LABEL_COLUMNS",
    "NO_ROW",
    "TABLE_SUFFIXES",
    "TORCH_SUFFIXES",
    "ArrayFile",
    "ArrayInput",
    "ClassEncoding",
    "Columns",
    "DeclaredArray",
    "ExamplePositions",
    "Examples",
    "IdMatch",
    "Reading",
    "array_input",
    "check_file",
    "check_ids",
    "check_labels",
    "check_quotes",
    "check_unique",
    "class_encoding",
    "class_index",
    "class_indices",
    "class_lists",
    "column_named",
    "distinct_values",
    "errors_with_path",
    "first_line",
    "ignored_columns",
    "ignored_names",
    "is_list",
    "is_text",
    "number_array",
    "number_column",
    "one_class_per_row",
    "open_arrays",
    "open_torch_arrays",
    "optional_texts",
    "packed_column",
    "parse_csv",
    "read_any_table",
    "read_examples",
    "read_json",
    "read_json_rows",
    "read_table",
    "read_text",
    "read_toml",
    "refuse_other_labels",
    "shared_column",
    "skipped_files",
    "text_array",
    "texts",
    "why_unreadable",
]

_HOME = {
    "regrade.tables.any_table": "read_any_table",
    "regrade.tables.array_files": "ARRAY_SUFFIXES ArrayFile DeclaredArray open_arrays",
    "regrade.tables.array_inputs": "ArrayInput array_input class_lists distinct_values",
    "regrade.tables.columns": (
        "ClassEncoding Reading class_encoding class_index class_indices ignored_columns ignored_names "
        "number_array number_column one_class_per_row packed_column shared_column skipped_files text_array"
    ),
    "regrade.tables.example_positions": "ExamplePositions",
    "regrade.tables.examples": (
        "LABEL_COLUMNS Columns Examples check_ids check_labels check_unique column_named optional_texts "
        "read_examples refuse_other_labels texts"
    ),
    "regrade.tables.files": (
        "TABLE_SUFFIXES check_file check_quotes errors_with_path first_line is_list is_text parse_csv "
        "read_json read_json_rows read_table read_text why_unreadable"
    ),
    "regrade.tables.id_matching": "NO_ROW IdMatch",
    "regrade.tables.toml_files": "read_toml",
    "regrade.tables.torch_files": "TORCH_SUFFIXES open_torch_arrays",
}

if not TYPE_CHECKING:  # type checkers then find misspelled names
    __getattr__, __dir__ = lazy_names(globals(), _HOME)
