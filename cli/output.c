/* Messages, tables and texts. */
#include "output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

void cli_print_colored(FILE *to, cli_color color, const char *text) {
  const char *no_color = getenv("NO_COLOR"); /* https://no-color.org: any text but the empty one */
  if (isatty(fileno(to)) && (no_color == NULL || no_color[0] == '\0'))
    fprintf(to, "\033[%dm%s\033[0m", (int)color, text);
  else
    fputs(text, to);
}

static void print_message(cli_color color, const char *mark, const char *message) {
  const char *found = strstr(message, mark);
  if (found == NULL) {
    fputs("polyhead: ", stderr);
    found = message;
  } else {
    fwrite(message, 1, (size_t)(found - message), stderr);
    found += strlen(mark);
  }
  cli_print_colored(stderr, color, mark);
  fprintf(stderr, "%s\n", found);
}

void cli_print_error(const char *message) {
  print_message(CLI_RED, "error: ", message);
}
void cli_print_warning(const char *message) {
  print_message(CLI_YELLOW, "warning: ", message);
}

void cli_print_peak(const ph_device_entry *device, ph_peak peak) {
  if (peak.flops == 0) return;
  printf("%s was measured to reach %.1f GFLOP/s, %.1f GB/s reading and %.1f GB/s in a triad\n", device->spec,
         peak.flops * 1e-9, peak.read_bytes * 1e-9, peak.triad_bytes * 1e-9);
}

void cli_table_add(cli_table *table, const char *const *cells) {
  size_t columns = strlen(table->columns);
  if (table->failed || !ph_grow(&table->cells, &table->capacity, table->count + columns, sizeof(char *))) {
    table->failed = true;
    return;
  }
  for (size_t i = 0; i < columns; i++) {
    char *copy = strdup(cells[i]);
    table->failed = table->failed || copy == NULL;
    table->cells[table->count++] = copy;
  }
}

static void print_rows(const cli_table *table, FILE *to) {
  size_t columns = strlen(table->columns);
  for (size_t row = 0; row < table->count; row += columns) {
    size_t pending = 0; /* blanks that are due before the next text, so that no line ends in one */
    for (size_t column = 0; column < columns; column++) {
      size_t width = 0, length = strlen(table->cells[row + column]);
      for (size_t i = column; i < table->count; i += columns) {
        size_t other = strlen(table->cells[i]);
        width = other > width ? other : width;
      }
      size_t gap = width - length;
      if (table->columns[column] == 'r') pending += gap;
      if (length > 0) fprintf(to, "%*s%s", (int)pending, "", table->cells[row + column]);
      if (length > 0) pending = 0;
      pending += (table->columns[column] == 'r' ? 0 : gap) + 2;
    }
    fputc('\n', to);
  }
}

ph_status cli_table_print(cli_table *table, FILE *to, ph_error *error) {
  bool failed = table->failed;
  if (!failed) print_rows(table, to);
  for (size_t i = 0; i < table->count; i++) free(table->cells[i]);
  free(table->cells);
  *table = (cli_table){.columns = table->columns};
  return failed ? ph_fail_memory(error) : PH_OK;
}

cli_text cli_seconds_text(double seconds) {
  static const char *const units[] = {"ns", "us", "ms", "s"};
  cli_text out;
  double value = seconds * 1e9;
  size_t unit = 0;
  while (value >= 999.5 && unit < 3) {
    value /= 1000;
    unit++;
  }
  snprintf(out.text, sizeof(out.text), "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[unit]);
  return out;
}

cli_text cli_share_text(double rate, double peak) {
  cli_text out = {""};
  if (peak > 0) snprintf(out.text, sizeof(out.text), "%.0f %%", 100 * rate / peak);
  return out;
}

/* Three digits and a unit; whole numbers below the first step stay whole. */
static cli_text scaled(double value, double step, const char *const *units) {
  cli_text out;
  int unit = 0;
  while (value >= step && units[unit + 1] != NULL) {
    value /= step;
    unit++;
  }
  snprintf(out.text, sizeof(out.text), "%.*f%s%s",
           unit == 0     ? 0
           : value < 10  ? 2
           : value < 100 ? 1
                         : 0,
           value, units[unit][0] != '\0' ? " " : "", units[unit]);
  return out;
}

cli_text cli_count_text(double count) {
  static const char *const units[] = {"", "k", "M", "G", "T", "P", NULL};
  return scaled(count, 1000, units);
}

cli_text cli_bytes_text(uint64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", NULL};
  return scaled((double)bytes, 1024, units);
}

cli_text cli_list_text(uint32_t count, const int64_t *items) {
  cli_text out;
  size_t length = 0;
  out.text[length++] = '[';
  for (uint32_t i = 0; i < count && length < sizeof(out.text) - 24; i++) /* 24: a comma and 20 digits */
    length += (size_t)snprintf(out.text + length, sizeof(out.text) - length, "%s%lld", i > 0 ? ", " : "",
                               (long long)items[i]);
  out.text[length++] = ']';
  out.text[length] = '\0';
  return out;
}

cli_text cli_type_text(const ph_tensor *tensor) {
  cli_text out, dims = cli_list_text(tensor->rank, tensor->dims);
  snprintf(out.text, sizeof(out.text), "%s %.180s", ph_dtype_text(tensor->dtype), dims.text);
  return out;
}

const char *cli_device_kind_text(ph_device_kind kind) {
  return kind == PH_DEVICE_CPU ? "cpu" : kind == PH_DEVICE_GPU ? "gpu" : "accelerator";
}
