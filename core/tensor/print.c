/* Prints tensors as NumPy does: brackets, columns, "..." where there are many; labelled ones as tables. */
#include "tensor/print.h"

#include <string.h>

enum { THRESHOLD = 1000 }; /* more elements than these are shortened */

bool ph_print_gap(const ph_print_view *view, uint32_t axis) {
  return view->shortened && view->tensor->dims[axis] > 2 * PH_PRINT_EDGE;
}

int64_t ph_print_shown(const ph_print_view *view, uint32_t axis) {
  return ph_print_gap(view, axis) ? 2 * PH_PRINT_EDGE : view->tensor->dims[axis];
}

int64_t ph_print_place(const ph_print_view *view, uint32_t axis, int64_t i) {
  bool behind = ph_print_gap(view, axis) && i >= PH_PRINT_EDGE;
  return behind ? view->tensor->dims[axis] - 2 * PH_PRINT_EDGE + i : i;
}

/* Calls `visit` with every element that is shown. */
static void for_each_shown(ph_print_view *view, uint32_t axis, size_t offset,
                           void (*visit)(ph_cell_style *style, size_t index)) {
  if (axis == view->tensor->rank) {
    visit(&view->style, offset);
    return;
  }
  for (int64_t i = 0; i < ph_print_shown(view, axis); i++)
    for_each_shown(view, axis + 1, offset + (size_t)ph_print_place(view, axis, i) * view->strides[axis], visit);
}

/* ---- NumPy's layout ------------------------------------------------------------------------------------------------
 */

/* A row of texts that may take several lines. */
typedef struct row_lines {
  FILE *to;
  int indent; /* where lines begin */
  int column; /* where the line ends, with the spaces owed */
  int owed;   /* spaces behind the last text: only written where something follows on its line */
} row_lines;

/* On a new line where the text does not fit, unless it is the first of its line. */
static void print_word(row_lines *row, const char *word) {
  int width = (int)strlen(word), text = width, limit = PH_PRINT_LINE - row->indent; /* as many ']' may follow */
  while (text > 0 && word[text - 1] == ' ') text--;
  if (row->column > row->indent) {
    bool wraps = row->column + 1 + width > limit;
    if (wraps)
      fprintf(row->to, "\n%*s", row->indent, "");
    else
      fprintf(row->to, "%*s", row->owed + 1, "");
    row->column = wraps ? row->indent : row->column + 1;
  }
  fprintf(row->to, "%.*s", text, word);
  row->column += width;
  row->owed = width - text;
}

static void print_row(const ph_print_view *view, size_t offset) {
  uint32_t axis = view->tensor->rank - 1;
  row_lines row = {.to = view->to, .indent = (int)view->tensor->rank, .column = (int)view->tensor->rank};
  for (int64_t i = 0; i < ph_print_shown(view, axis); i++) {
    char text[PH_CELL_SIZE];
    if (i == PH_PRINT_EDGE && ph_print_gap(view, axis)) print_word(&row, "...");
    ph_cell_text(&view->style, offset + (size_t)ph_print_place(view, axis, i), text);
    print_word(&row, text);
  }
  fprintf(view->to, "%*s", row.owed, "");
}

static void print_separator(const ph_print_view *view, uint32_t axis) {
  for (uint32_t lines = view->tensor->rank - 1 - axis; lines > 0; lines--) fputc('\n', view->to);
  fprintf(view->to, "%*s", (int)axis + 1, "");
}

static void print_axis(const ph_print_view *view, uint32_t axis, size_t offset) {
  fputc('[', view->to);
  if (axis == view->tensor->rank - 1) {
    print_row(view, offset);
  } else {
    for (int64_t i = 0; i < ph_print_shown(view, axis); i++) {
      if (i > 0) print_separator(view, axis);
      if (i == PH_PRINT_EDGE && ph_print_gap(view, axis)) {
        fputs("...", view->to);
        print_separator(view, axis);
      }
      print_axis(view, axis + 1, offset + (size_t)ph_print_place(view, axis, i) * view->strides[axis]);
    }
  }
  fputc(']', view->to);
}

/* A single number is written as Python would: 1.0 and 1e-06, where an array has 1. and 1.e-06. */
static void print_scalar(const ph_print_view *view) {
  char text[PH_CELL_SIZE];
  ph_cell_text(&view->style, 0, text);
  char *point = strchr(text, '.');
  if (point != NULL && point[1] == 'e') memmove(point, point + 1, strlen(point));
  fprintf(view->to, "%s%s", text, point != NULL && point[1] == '\0' ? "0" : "");
}

/* ---- both
 * ------------------------------------------------------------------------------------------------------------ */

static bool has_labels(const ph_tensor *tensor, const char *const *const *labels) {
  for (uint32_t axis = 0; labels != NULL && axis < tensor->rank; axis++)
    if (labels[axis] != NULL) return true;
  return false;
}

void ph_tensor_print(FILE *to, const ph_tensor *tensor, const ph_print_options *options) {
  if (tensor->count == 0) {
    fputs("[]\n", to);
    return;
  }
  ph_print_view view = {.to = to, .tensor = tensor, .shortened = tensor->count > THRESHOLD, .style.tensor = tensor};
  if (options != NULL && PH_COVERS(options, ph_print_options, labels)) view.labels = options->labels;
  if (options != NULL && PH_COVERS(options, ph_print_options, exact)) view.style.exact = options->exact;
  view.style.table = has_labels(tensor, view.labels);
  size_t stride = 1;
  for (uint32_t axis = tensor->rank; axis-- > 0; stride *= (size_t)tensor->dims[axis]) view.strides[axis] = stride;
  for_each_shown(&view, 0, 0, ph_cell_range);
  for_each_shown(&view, 0, 0, ph_cell_digits);
  if (view.style.table && ph_print_tables(&view)) return;
  if (tensor->rank == 0)
    print_scalar(&view);
  else
    print_axis(&view, 0, 0);
  fputc('\n', to);
}
