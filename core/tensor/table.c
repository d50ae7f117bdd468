/* Labelled tensors as tables: one for each index of the outer axes, with heads for rows and columns. */
#include <string.h>

#include "tensor/label.h"
#include "tensor/print.h"

enum { LABEL_LIMIT = 16, GUTTER = 2 };

/* What stands before a row or above a column. */
typedef struct table_head {
  const char *text;
  size_t width;
  int64_t place; /* along the axis; -1 for the "..." */
} table_head;

typedef struct table_heads {
  table_head *items;
  int64_t count;
  size_t width; /* of the widest */
  bool numbers; /* there are no labels: they are indices, and stand to the right */
} table_heads;

typedef struct label_table {
  const ph_print_view *view;
  table_heads rows, columns;
  bool column_heads;
  size_t row_stride;
  table_heads outer[PH_MAX_RANK];
  uint32_t outer_count;
  int64_t index[PH_MAX_RANK]; /* in the items of `outer`, of the table being printed */
  bool started;
} label_table;

static void print_spaces(const label_table *table, size_t count) {
  fprintf(table->view->to, "%*s", (int)count, "");
}

/* ---- heads
 * ----------------------------------------------------------------------------------------------------------- */

static bool add_head(const ph_print_view *view, uint32_t axis, int64_t place, ph_arena *arena, table_heads *out) {
  table_head *head = &out->items[out->count++];
  const char *text;
  if (place < 0)
    text = "...";
  else if (out->numbers)
    text = ph_arena_text(arena, "%lld", (long long)place);
  else
    text = view->labels[axis][place];
  if (text == NULL) return false;
  head->place = place;
  head->text = ph_label_shown(arena, text, LABEL_LIMIT, &head->width);
  if (head->width > out->width) out->width = head->width;
  return head->text != NULL;
}

static bool make_heads(const ph_print_view *view, uint32_t axis, ph_arena *arena, table_heads *out) {
  int64_t shown = ph_print_shown(view, axis);
  *out = (table_heads){.numbers = view->labels[axis] == NULL};
  out->items = ph_arena_array(arena, (size_t)shown + 1, sizeof(*out->items));
  if (out->items == NULL) return false;
  for (int64_t i = 0; i < shown; i++) {
    if (i == PH_PRINT_EDGE && ph_print_gap(view, axis) && !add_head(view, axis, -1, arena, out)) return false;
    if (!add_head(view, axis, ph_print_place(view, axis, i), arena, out)) return false;
  }
  return true;
}

/* ---- one table
 * ------------------------------------------------------------------------------------------------------- */

static size_t column_width(const label_table *table, int64_t column) {
  const table_head *head = &table->columns.items[column];
  size_t cells = head->place < 0 ? 0 : (size_t)ph_cell_width(&table->view->style);
  return table->column_heads && head->width > cells ? head->width : cells;
}

/* As many columns, from `first`, as fit on a line; at least one. */
static int64_t fitting_columns(const label_table *table, int64_t first) {
  size_t width = table->rows.width;
  int64_t end = first;
  while (end < table->columns.count) {
    width += GUTTER + column_width(table, end);
    if (width > PH_PRINT_LINE && end > first) break;
    end++;
  }
  return end;
}

static void print_right(const label_table *table, const char *text, size_t text_width, size_t width) {
  print_spaces(table, GUTTER + width - text_width);
  fputs(text, table->view->to);
}

static void print_column_heads(const label_table *table, int64_t first, int64_t end) {
  print_spaces(table, table->rows.width);
  for (int64_t j = first; j < end; j++) {
    const table_head *head = &table->columns.items[j];
    print_right(table, head->text, head->width, column_width(table, j));
  }
  fputc('\n', table->view->to);
}

static void print_cell(const label_table *table, size_t row_offset, int64_t column) {
  char text[PH_CELL_SIZE] = "...";
  const table_head *head = &table->columns.items[column];
  if (head->place >= 0) ph_cell_text(&table->view->style, row_offset + (size_t)head->place, text);
  print_right(table, text, strlen(text), column_width(table, column));
}

static void print_table_row(const label_table *table, size_t offset, const table_head *row, int64_t first,
                            int64_t end) {
  size_t padding = table->rows.width - row->width;
  if (table->rows.numbers) print_spaces(table, padding);
  fputs(row->text, table->view->to);
  if (row->place >= 0) {
    if (!table->rows.numbers) print_spaces(table, padding);
    for (int64_t j = first; j < end; j++) print_cell(table, offset + (size_t)row->place * table->row_stride, j);
  }
  fputc('\n', table->view->to);
}

/* A table too wide for a line is printed in pieces, with the heads again. */
static void print_table(const label_table *table, size_t offset) {
  for (int64_t first = 0, end; first < table->columns.count; first = end) {
    end = fitting_columns(table, first);
    if (first > 0) fputc('\n', table->view->to);
    if (table->column_heads) print_column_heads(table, first, end);
    for (int64_t i = 0; i < table->rows.count; i++) print_table_row(table, offset, &table->rows.items[i], first, end);
  }
}

/* ---- all of them
 * ------------------------------------------------------------------------------------------------------ */

/* "[0, cat, :, :]"; "[0, ...]" for what is left out. */
static void print_outer_head(const label_table *table) {
  FILE *to = table->view->to;
  fputc('[', to);
  for (uint32_t axis = 0; axis < table->outer_count; axis++) {
    const table_head *head = &table->outer[axis].items[table->index[axis]];
    if (head->place < 0) {
      fputs("...]\n", to);
      return;
    }
    fprintf(to, "%s, ", head->text);
  }
  fputs(":, :]\n", to);
}

/* The tables inside the outer axes from `axis` on. */
static void print_outer(label_table *table, uint32_t axis, size_t offset) {
  bool left_out = axis > 0 && table->outer[axis - 1].items[table->index[axis - 1]].place < 0;
  if (axis == table->outer_count || left_out) {
    if (table->started) fputc('\n', table->view->to);
    table->started = true;
    if (axis > 0) print_outer_head(table);
    if (!left_out) print_table(table, offset);
    return;
  }
  for (int64_t i = 0; i < table->outer[axis].count; i++) {
    table->index[axis] = i;
    print_outer(table, axis + 1, offset + (size_t)table->outer[axis].items[i].place * table->view->strides[axis]);
  }
}

bool ph_print_tables(const ph_print_view *view) {
  uint32_t rank = view->tensor->rank;
  ph_arena arena = {0};
  label_table table = {.view = view, .column_heads = rank > 1, .outer_count = rank > 2 ? rank - 2 : 0};
  table_head single = {.text = ""};
  bool made = true;
  for (uint32_t axis = 0; axis < table.outer_count && made; axis++)
    made = make_heads(view, axis, &arena, &table.outer[axis]);
  if (rank == 1) { /* a list: a value beside each label */
    table.columns = (table_heads){.items = &single, .count = 1};
    table.row_stride = 1;
    made = make_heads(view, 0, &arena, &table.rows);
  } else if (made) {
    table.row_stride = view->strides[rank - 2];
    made = make_heads(view, rank - 2, &arena, &table.rows) && make_heads(view, rank - 1, &arena, &table.columns);
  }
  if (made) print_outer(&table, 0, 0);
  ph_arena_free(&arena);
  return made;
}
