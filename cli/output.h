/* What the command prints: messages on standard error, tables on standard output, and texts for sizes and types. */
#ifndef POLYHEAD_CLI_OUTPUT_H
#define POLYHEAD_CLI_OUTPUT_H

#include <polyhead/polyhead.h>
#include <stdio.h>

typedef enum cli_color { CLI_RED = 31, CLI_GREEN = 32, CLI_YELLOW = 33 } cli_color;

/* Prints `text` in this colour where `to` is a terminal and NO_COLOR is not set. */
void cli_print_colored(FILE *to, cli_color color, const char *text);

/* "polyhead: error: MESSAGE"; a message that names its own place ("a.yaml:3:1: error: ...") stands as it is. */
void cli_print_error(const char *message);
void cli_print_warning(const char *message);

/* Rows of texts in columns.  Start with {.columns = "llr"}: how each column is aligned. */
typedef struct cli_table {
  const char *columns;
  char **cells;
  size_t count, capacity;
  bool failed; /* out of memory */
} cli_table;

void cli_table_add(cli_table *table, const char *const *cells); /* one text for each column; copied */
/* Prints what was added and empties the table. */
PH_NODISCARD ph_status cli_table_print(cli_table *table, FILE *to, ph_error *error);

/* A line with what a device was measured to reach; nothing where it was not. */
void cli_print_peak(const ph_device_entry *device, ph_peak peak);

typedef struct cli_text {
  char text[192];
} cli_text;

cli_text cli_count_text(double count);                        /* "1.05 M" */
cli_text cli_bytes_text(uint64_t bytes);                      /* "1.5 KiB" */
cli_text cli_seconds_text(double seconds);                    /* "1.05 ms" */
cli_text cli_share_text(double rate, double peak);            /* "83 %"; "" where the peak is not known */
cli_text cli_type_text(const ph_tensor *tensor);              /* "f32 [1, 8, 64, 64]" */
cli_text cli_list_text(uint32_t count, const int64_t *items); /* "[0, 3]" */
const char *cli_device_kind_text(ph_device_kind kind);        /* "cpu" */

#endif
