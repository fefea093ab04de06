// SPDX-License-Identifier: Apache-2.0
//
// `webnn ops`: the operator table, made of ops/ops.def alone.

#include "ops/op.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/memory.h"
#include "tools/terminal.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Prints every operator with its operands, their data types and ranks, and its\n"
    "options with their defaults.\n\n"
    "Usage: webnn ops [--format=FORMAT] [OPERATOR...]\n\n"
    "  --format=FORMAT   text (the default), markdown or json\n\n"
    "Arguments that an operator needs are listed in the order in which a graph file can\n"
    "give them without their names; a question mark stands behind what can be left out.\n\n"
    "Examples:\n\n"
    "  webnn ops conv2d\n"
    "  webnn ops --format=markdown > operators.md\n";

static const char *const attr_names[] = {
    [ATTR_u32] = "uint32",
    [ATTR_i32] = "int32",
    [ATTR_bool] = "bool",
    [ATTR_f64] = "double",
    [ATTR_number] = "number",
    [ATTR_u32s] = "[uint32]",
    [ATTR_f32s] = "[float32]",
    [ATTR_dtype] = "data type",
    [ATTR_enum] = "enum",
    [ATTR_activation] = "activation",
    [ATTR_activations] = "[activation]",
};

// "float32 or float16", or "as input" where a row has the type of another.
static const char *types_text(const struct op_info *info, const struct op_row *row,
                              char buffer[WNN_DTYPES_TEXT])
{
    if (!(row->types & WNN_SAME))
        return wnn_dtypes_text(row->types, buffer);
    unsigned index = row->types & ~WNN_SAME;
    for (const struct op_row *other = info->rows; other->name; other++)
        if (wnn_op_row_is_input(other) && index-- == 0)
            snprintf(buffer, WNN_DTYPES_TEXT, "as %s", other->name);
    return buffer;
}

// The default of an option, as a graph file would say it; empty if there is none.
static const char *default_text(const struct op_info *info, const struct op_row *row, char buffer[64])
{
    const unsigned char *at = (const unsigned char *)info->defaults + row->offset;
    uint32_t word;
    bool flag;
    double real;
    int32_t integer;
    buffer[0] = '\0';
    switch (row->attr) {
    case ATTR_u32:
        memcpy(&word, at, sizeof word);
        snprintf(buffer, 64, "%u", word);
        break;
    case ATTR_i32:
        memcpy(&integer, at, sizeof integer);
        snprintf(buffer, 64, "%d", integer);
        break;
    case ATTR_bool:
        memcpy(&flag, at, sizeof flag);
        snprintf(buffer, 64, "%s", flag ? "true" : "false");
        break;
    case ATTR_f64:
        memcpy(&real, at, sizeof real);
        snprintf(buffer, 64, "%.9g", real);
        break;
    case ATTR_enum:
        memcpy(&word, at, sizeof word);
        snprintf(buffer, 64, "\"%s\"", word ? row->names[word - 1] : "");
        break;
    case ATTR_dtype:
        memcpy(&word, at, sizeof word);
        if (word)
            snprintf(buffer, 64, "\"%s\"", wnn_dtype_name((WNNDataType)word));
        break;
    default:
        break;
    }
    return buffer;
}

static void print_text(const struct op_info *info)
{
    printf("%s\n", info->name);
    for (const struct op_row *row = info->rows; row->name; row++) {
        char types[WNN_DTYPES_TEXT], ranks[RANKS_TEXT], value[64], name[64];
        if (row->kind == ROW_ATTRIBUTE) {
            bool argument = row->argument;
            snprintf(name, sizeof name, "%s%s", row->name, argument ? "" : "?");
            printf("  %-8s %-20s %s", argument ? "argument" : "option", name, attr_names[row->attr]);
            for (int i = 0; row->attr == ATTR_enum && row->names[i]; i++)
                printf("%s\"%s\"", i ? ", " : ": ", row->names[i]);
            if (!argument && default_text(info, row, value)[0])
                printf(", default %s", value);
            printf("\n");
            continue;
        }
        snprintf(name, sizeof name, "%s%s%s", row->name, wnn_op_row_is_list(row) ? "..." : "",
                 wnn_op_row_is_optional(row) ? "?" : "");
        printf("  %-8s %-20s %s, rank %s\n", wnn_op_row_is_input(row) ? "operand" : "result", name,
               types_text(info, row, types), ranks_text(row->min_rank, row->max_rank, ranks));
    }
}

static void print_markdown(const struct op_info *info)
{
    char types[WNN_DTYPES_TEXT], ranks[RANKS_TEXT], value[64];
    bool first = true;
    printf("| `%s` | ", info->name);
    for (const struct op_row *row = info->rows; row->name; row++) {
        if (!wnn_op_row_is_input(row))
            continue;
        printf("%s`%s`%s%s: %s, rank %s", first ? "" : "<br>", row->name, wnn_op_row_is_list(row) ? "…" : "",
               wnn_op_row_is_optional(row) ? " (optional)" : "", types_text(info, row, types),
               ranks_text(row->min_rank, row->max_rank, ranks));
        first = false;
    }
    printf(" | ");
    first = true;
    for (const struct op_row *row = info->rows; row->name; row++) {
        if (row->kind != ROW_ATTRIBUTE)
            continue;
        printf("%s`%s`", first ? "" : "<br>", row->name);
        if (row->argument)
            printf(" (needed)");
        else if (default_text(info, row, value)[0])
            printf(" = `%s`", value);
        first = false;
    }
    printf(" | ");
    first = true;
    for (const struct op_row *row = info->rows; row->name; row++) {
        if (row->kind == ROW_ATTRIBUTE || wnn_op_row_is_input(row))
            continue;
        printf("%s`%s`%s%s: %s", first ? "" : "<br>", row->name, wnn_op_row_is_list(row) ? "…" : "",
               wnn_op_row_is_optional(row) ? " (on demand)" : "", types_text(info, row, types));
        first = false;
    }
    printf(" |\n");
}

static cJSON *row_json(const struct op_info *info, const struct op_row *row)
{
    char value[64];
    cJSON *item = must(cJSON_CreateObject());
    cJSON_AddStringToObject(item, "name", row->name);
    if (row->kind == ROW_ATTRIBUTE) {
        cJSON_AddStringToObject(item, "type", attr_names[row->attr]);
        cJSON_AddBoolToObject(item, "required", row->argument);
        if (row->attr == ATTR_enum) {
            cJSON *values = must(cJSON_AddArrayToObject(item, "values"));
            for (int i = 0; row->names[i]; i++)
                cJSON_AddItemToArray(values, must(cJSON_CreateString(row->names[i])));
        }
        if (!row->argument && default_text(info, row, value)[0])
            cJSON_AddItemToObject(item, "default", must(cJSON_Parse(value)));
        return item;
    }
    cJSON_AddBoolToObject(item, "optional", wnn_op_row_is_optional(row));
    cJSON_AddBoolToObject(item, "list", wnn_op_row_is_list(row));
    if (row->types & WNN_SAME)
        cJSON_AddNumberToObject(item, "sameTypeAs", row->types & ~WNN_SAME);
    else
        cJSON_AddItemToObject(item, "dataTypes", json_types(row->types));
    cJSON_AddItemToObject(item, "requiredDataTypes", json_types(row->required));
    cJSON_AddNumberToObject(item, "minRank", row->min_rank);
    cJSON_AddNumberToObject(item, "maxRank", row->max_rank);
    return item;
}

static cJSON *operator_json(const struct op_info *info)
{
    cJSON *object = must(cJSON_CreateObject());
    cJSON_AddStringToObject(object, "name", info->name);
    cJSON *operands = must(cJSON_AddArrayToObject(object, "operands"));
    cJSON *attributes = must(cJSON_AddArrayToObject(object, "attributes"));
    cJSON *results = must(cJSON_AddArrayToObject(object, "results"));
    for (const struct op_row *row = info->rows; row->name; row++)
        cJSON_AddItemToArray(row->kind == ROW_ATTRIBUTE ? attributes
                             : wnn_op_row_is_input(row) ? operands
                                                        : results,
                             row_json(info, row));
    return object;
}

static bool is_wanted(const struct op_info *info, int count, char **names)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], info->name) == 0)
            return true;
    return count == 0;
}

static void print_all(const char *format, int count, char **names)
{
    bool json = strcmp(format, "json") == 0, markdown = strcmp(format, "markdown") == 0, first = true;
    cJSON *list = json ? must(cJSON_CreateArray()) : NULL;
    if (markdown)
        printf("| operator | operands | arguments and options | results |\n|---|---|---|---|\n");
    for (unsigned op = 0; op < WNN_OP_COUNT; op++) {
        if (!is_wanted(&wnn_ops[op], count, names))
            continue;
        if (json) {
            cJSON_AddItemToArray(list, operator_json(&wnn_ops[op]));
        } else if (markdown) {
            print_markdown(&wnn_ops[op]);
        } else {
            printf("%s", first ? "" : "\n");
            print_text(&wnn_ops[op]);
        }
        first = false;
    }
    if (json) {
        char *text = must(cJSON_Print(list));
        puts(text);
        cJSON_free(text);
        cJSON_Delete(list);
    }
}

static int run(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"format", required_argument, NULL, 'f'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    const char *format = "text";
    for (int option; (option = command_option(argc, argv, long_options)) != -1;) {
        if (option == 'h')
            return command_help(&command_ops);
        if (option != 'f')
            return command_usage(&command_ops);
        format = optarg;
        if (strcmp(format, "text") != 0 && strcmp(format, "markdown") != 0 && strcmp(format, "json") != 0)
            return command_wrong(&command_ops, "--format=%s: expected text, markdown or json", format);
    }
    for (int i = optind; i < argc; i++)
        if (wnn_op_find((struct string){argv[i], strlen(argv[i])}) == WNN_OP_COUNT)
            return command_wrong(&command_ops, "there is no operator %s", argv[i]);
    print_all(format, argc - optind, argv + optind);
    return CODE_GOOD;
}

const struct command command_ops = {"ops", "prints the table of operators", help, run};
