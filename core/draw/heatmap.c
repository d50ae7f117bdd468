/* Heat maps: matrices as coloured cells.  One map, all heads of a tensor as a grid, or several tensors (layers) as rows
 * of such a grid. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "draw/canvas.h"
#include "tensor/label.h"

#include <polyhead/polyhead.h>

enum { MARGIN = 16, GAP = 18, TITLE_SIZE = 14, LABEL_SIZE = 11, BAR_WIDTH = 14, BAR_STEPS = 64, LABEL_LIMIT = 24 };
enum { MAX_MAPS = 1024, MAX_CELLS = 4000000 };

static const ph_color ink = {0x22, 0x22, 0x22}, paper = {0xff, 0xff, 0xff}, odd = {0xd0, 0x30, 0x60};

/* Light to dark, so that it reads in grey, too: each step is darker than the one before. */
static ph_color color_of(double share) {
  static const double stops[][3] = {{253, 251, 231}, {214, 232, 184}, {143, 204, 176}, {78, 166, 180},
                                    {44, 116, 166},  {37, 63, 134},   {20, 24, 76}};
  enum { LAST = sizeof(stops) / sizeof(stops[0]) - 1 };
  double place = fmin(fmax(share, 0), 1) * LAST;
  int from = place >= LAST ? LAST - 1 : (int)place;
  double part = place - from, mixed[3];
  for (int i = 0; i < 3; i++) mixed[i] = stops[from][i] + part * (stops[from + 1][i] - stops[from][i]);
  return (ph_color){(uint8_t)lround(mixed[0]), (uint8_t)lround(mixed[1]), (uint8_t)lround(mixed[2])};
}

typedef struct picture {
  const ph_heatmap_options *options;
  const ph_tensor *const *tensors;
  uint32_t tensor_count;
  int64_t rows, columns;              /* of a map */
  int64_t heads, first_head;          /* drawn, of each tensor */
  double low, high;                   /* of all values drawn */
  double cell, row_room, column_room; /* points: of a cell, for labels */
  double map_width, map_height;
  bool values, labelled;
  ph_arena arena;
  ph_canvas *canvas;
  ph_error *error;
} picture;

/* ---- what is drawn ---- */

static ph_status measure_tensor(picture *p, const ph_tensor *tensor) {
  uint32_t rank = tensor->rank;
  if (rank < 2 || rank > 4)
    return ph_fail(p->error, PH_INVALID,
                   "a heat map takes [rows, columns], [heads, rows, columns] or [batch, heads, rows, columns], "
                   "not %u axes",
                   rank);
  int64_t heads = rank == 2 ? 1 : tensor->dims[rank - 3], batch = rank == 4 ? tensor->dims[0] : 1;
  if (p->options->batch >= batch)
    return ph_fail(p->error, PH_INVALID, "there is no sample %lld: the batch has %lld", (long long)p->options->batch,
                   (long long)batch);
  if (p->options->head >= heads)
    return ph_fail(p->error, PH_INVALID, "there is no head %lld: there are %lld", (long long)p->options->head,
                   (long long)heads);
  bool first = tensor == p->tensors[0];
  if (!first && (tensor->dims[rank - 2] != p->rows || tensor->dims[rank - 1] != p->columns))
    return ph_fail(p->error, PH_INVALID, "the tensors have maps of different sizes: [%lld, %lld] and [%lld, %lld]",
                   (long long)p->rows, (long long)p->columns, (long long)tensor->dims[rank - 2],
                   (long long)tensor->dims[rank - 1]);
  p->rows = tensor->dims[rank - 2];
  p->columns = tensor->dims[rank - 1];
  bool all = p->options->head < 0;
  p->first_head = all ? 0 : p->options->head;
  if (all && heads > p->heads) p->heads = heads;
  return PH_OK;
}

/* Element (row, column) of a head, in the sample that is drawn. */
static double value_at(const picture *p, const ph_tensor *tensor, int64_t head, int64_t row, int64_t column) {
  int64_t heads = tensor->rank == 2 ? 1 : tensor->dims[tensor->rank - 3];
  int64_t sample = tensor->rank == 4 ? p->options->batch : 0;
  return ph_read_real(tensor->dtype, tensor->data,
                      (size_t)(((sample * heads + head) * p->rows + row) * p->columns + column));
}

static int64_t heads_of(const picture *p, const ph_tensor *tensor) {
  int64_t heads = tensor->rank == 2 ? 1 : tensor->dims[tensor->rank - 3];
  return p->options->head < 0 ? heads : 1;
}

/* From 0 where nothing is negative, so that an empty cell is the lightest. */
static void find_range(picture *p) {
  bool some = false;
  for (uint32_t t = 0; t < p->tensor_count; t++)
    for (int64_t h = 0; h < heads_of(p, p->tensors[t]); h++)
      for (int64_t i = 0; i < p->rows * p->columns; i++) {
        double v = value_at(p, p->tensors[t], p->first_head + h, i / p->columns, i % p->columns);
        if (!isfinite(v)) continue;
        p->low = some ? fmin(p->low, v) : v;
        p->high = some ? fmax(p->high, v) : v;
        some = true;
      }
  p->low = fmin(p->low, 0);
  if (!(p->high > p->low)) p->high = p->low + 1;
}

static double label_room(picture *p, const char *const *labels, int64_t count) {
  size_t widest = 0;
  for (int64_t i = 0; labels != NULL && i < count; i++) {
    size_t width;
    if (ph_label_shown(&p->arena, labels[i], LABEL_LIMIT, &width) != NULL && width > widest) widest = width;
  }
  return widest > 0 ? (double)widest * LABEL_SIZE * 0.62 + 8 : 0;
}

static void measure_maps(picture *p, bool single) {
  int64_t longer = p->rows > p->columns ? p->rows : p->columns;
  double wanted = single ? 560 : 200, largest = single ? 44 : 22, smallest = single ? 3 : 1.5;
  p->cell = longer > 0 ? fmin(fmax(wanted / (double)longer, smallest), largest) : largest;
  p->labelled = p->cell >= LABEL_SIZE && single;
  p->values = p->cell >= 34;
  p->row_room = p->labelled ? label_room(p, p->options->row_labels, p->rows) : 0;
  p->column_room = p->labelled ? label_room(p, p->options->column_labels, p->columns) : 0;
  p->map_width = p->row_room + p->cell * (double)p->columns;
  p->map_height = p->column_room + p->cell * (double)p->rows;
}

/* ---- drawing ---- */

static void draw_labels(picture *p, double x, double y) {
  size_t width;
  for (int64_t i = 0; p->row_room > 0 && i < p->rows; i++)
    ph_canvas_text(p->canvas, x + p->row_room - 6, y + p->column_room + p->cell * ((double)i + 0.5), LABEL_SIZE,
                   PH_ANCHOR_END, 0, ink, ph_label_shown(&p->arena, p->options->row_labels[i], LABEL_LIMIT, &width));
  for (int64_t i = 0; p->column_room > 0 && i < p->columns; i++) {
    const char *label = ph_label_shown(&p->arena, p->options->column_labels[i], LABEL_LIMIT, &width);
    bool flat = (double)width * LABEL_SIZE * 0.62 <= p->cell;
    ph_canvas_text(p->canvas, x + p->row_room + p->cell * ((double)i + 0.5), y + p->column_room - (flat ? 10 : 6),
                   LABEL_SIZE, flat ? PH_ANCHOR_MIDDLE : PH_ANCHOR_START, flat ? 0 : -90, ink, label);
  }
}

static void draw_cell(picture *p, double x, double y, double value, int64_t row, int64_t column) {
  bool regular = isfinite(value);
  double share = (value - p->low) / (p->high - p->low);
  const ph_heatmap_options *o = p->options;
  const char *tip = NULL;
  if (o->row_labels != NULL && o->column_labels != NULL)
    tip = ph_arena_text(&p->arena, "%s, %s: %.6g", o->row_labels[row], o->column_labels[column], value);
  else
    tip = ph_arena_text(&p->arena, "%lld, %lld: %.6g", (long long)row, (long long)column, value);
  ph_canvas_box(p->canvas, x, y, p->cell, p->cell, regular ? color_of(share) : odd, tip);
  if (!p->values) return;
  const char *text = ph_arena_text(&p->arena, "%.2f", value);
  if (text != NULL)
    ph_canvas_text(p->canvas, x + p->cell / 2, y + p->cell / 2, 10, PH_ANCHOR_MIDDLE, 0,
                   share > 0.5 || !regular ? paper : ink, text);
}

static void draw_map(picture *p, double x, double y, const ph_tensor *tensor, int64_t head) {
  draw_labels(p, x, y);
  for (int64_t row = 0; row < p->rows; row++)
    for (int64_t column = 0; column < p->columns; column++)
      draw_cell(p, x + p->row_room + p->cell * (double)column, y + p->column_room + p->cell * (double)row,
                value_at(p, tensor, head, row, column), row, column);
}

/* The bar is one column of boxes, darkest at the top. */
static void draw_bar(picture *p, double x, double y, double height) {
  for (int i = 0; i < BAR_STEPS; i++)
    ph_canvas_box(p->canvas, x, y + height * i / BAR_STEPS, BAR_WIDTH, height / BAR_STEPS + 0.3,
                  color_of(1 - (i + 0.5) / BAR_STEPS), NULL);
  for (int i = 0; i <= 2; i++) {
    const char *text = ph_arena_text(&p->arena, "%.3g", p->high - (p->high - p->low) * i / 2);
    if (text != NULL)
      ph_canvas_text(p->canvas, x + BAR_WIDTH + 5, y + height * i / 2, LABEL_SIZE, PH_ANCHOR_START, 0, ink, text);
  }
}

static const char *map_title(picture *p, uint32_t tensor, int64_t head) {
  const char *name = p->options->names != NULL ? p->options->names[tensor] : "";
  if (p->tensors[tensor]->rank == 2) return name;
  return ph_arena_text(&p->arena, "%s%shead %lld", p->tensor_count > 1 ? name : "", p->tensor_count > 1 ? " " : "",
                       (long long)head);
}

/* A row of the grid is a tensor where there are several; else heads flow into rows that make the grid nearly square. */
static void grid_shape(const picture *p, int64_t *out_rows, int64_t *out_columns) {
  *out_rows = p->tensor_count;
  *out_columns = p->heads;
  if (p->tensor_count > 1) return;
  *out_columns = (int64_t)ceil(sqrt((double)p->heads));
  *out_rows = (p->heads + *out_columns - 1) / *out_columns;
}

static ph_status draw(picture *p, const char *format, ph_text *out) {
  int64_t grid_rows, grid_columns;
  grid_shape(p, &grid_rows, &grid_columns);
  bool single = grid_rows * grid_columns == 1;
  measure_maps(p, single);
  double head_room = TITLE_SIZE + 12, map_head = single && p->tensors[0]->rank == 2 ? 0 : LABEL_SIZE + 8;
  double width = 2 * MARGIN + (double)grid_columns * (p->map_width + GAP) + BAR_WIDTH + 60;
  double height = 2 * MARGIN + head_room + (double)grid_rows * (p->map_height + map_head + GAP);
  const char *title = p->options->title != NULL ? p->options->title : "";
  double title_width = (double)strlen(title) * TITLE_SIZE * 0.62 + 2 * MARGIN;
  if (width < title_width) width = title_width;
  PH_TRY(strcmp(format, "png") == 0 ? ph_canvas_png(width, height, &p->canvas, p->error)
                                    : ph_canvas_svg(width, height, &p->canvas, p->error));
  ph_canvas_box(p->canvas, 0, 0, width, height, paper, NULL);
  ph_canvas_text(p->canvas, MARGIN, MARGIN + TITLE_SIZE / 2.0, TITLE_SIZE, PH_ANCHOR_START, 0, ink, title);
  double top = MARGIN + head_room;
  for (uint32_t t = 0; t < p->tensor_count; t++)
    for (int64_t h = 0; h < heads_of(p, p->tensors[t]); h++) {
      int64_t at = p->tensor_count > 1 ? (int64_t)t * grid_columns + h : h;
      double x = MARGIN + (double)(at % grid_columns) * (p->map_width + GAP);
      double y = top + (double)(at / grid_columns) * (p->map_height + map_head + GAP);
      const char *text = map_title(p, t, p->first_head + h);
      if (map_head > 0 && text != NULL)
        ph_canvas_text(p->canvas, x + p->row_room, y + LABEL_SIZE / 2.0, LABEL_SIZE, PH_ANCHOR_START, 0, ink, text);
      draw_map(p, x, y + map_head, p->tensors[t], p->first_head + h);
    }
  double bar = fmin(160, fmax(60, height - top - 2 * MARGIN));
  draw_bar(p, MARGIN + (double)grid_columns * (p->map_width + GAP), top + map_head + p->column_room, bar);
  return ph_canvas_finish(p->canvas, out, p->error);
}

ph_status ph_heatmap_draw(const ph_tensor *const *tensors, uint32_t count, const char *format,
                          const ph_heatmap_options *options, char **out, size_t *out_size, ph_error *error) {
  picture p = {.options = options, .tensors = tensors, .tensor_count = count, .heads = 1, .error = error};
  if (count == 0) return ph_fail(error, PH_INVALID, "a heat map needs a tensor");
  for (uint32_t i = 0; i < count; i++) PH_TRY(measure_tensor(&p, tensors[i]));
  if (p.heads * count > MAX_MAPS || (p.rows > 0 && p.columns > MAX_CELLS / (p.heads * count) / p.rows))
    return ph_fail(error, PH_INVALID,
                   "%u times %lld maps of [%lld, %lld] are too many cells for a picture: choose a head", count,
                   (long long)p.heads, (long long)p.rows, (long long)p.columns);
  find_range(&p);
  ph_text text = {0};
  ph_status status = draw(&p, format, &text);
  ph_canvas_destroy(p.canvas);
  ph_arena_free(&p.arena);
  if (status != PH_OK) return status;
  *out = text.data;
  *out_size = text.length;
  return PH_OK;
}
