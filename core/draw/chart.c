#include "draw/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "draw/canvas.h"

enum { WIDTH = 720, HEIGHT = 440, LEFT = 80, RIGHT = 24, TOP = 48, BOTTOM = 56, BAR = 20, NAMES = 330, FONT = 12 };

static const ph_color ink = {40, 40, 40}, grid = {225, 225, 225};
/* Told apart in grey, too: Okabe and Ito's, dark and light by turns. */
static const ph_color colors[] = {{0, 114, 178},   {230, 159, 0}, {0, 100, 80},
                                  {204, 121, 167}, {213, 94, 0},  {86, 180, 233}};
enum { COLOR_COUNT = sizeof(colors) / sizeof(colors[0]) };

typedef struct chart {
  ph_canvas *canvas;
  const ph_chart_point *points;
  uint32_t count;
  double x_low, x_high, y_low, y_high; /* logarithms, to base 10 */
} chart;

static const char *seconds_text(double seconds, char *out, size_t size) {
  static const char *const units[] = {"ns", "us", "ms", "s"};
  double value = seconds * 1e9;
  size_t unit = 0;
  for (; value >= 999.5 && unit < 3; unit++) value /= 1000;
  snprintf(out, size, "%.3g %s", value, units[unit]);
  return out;
}

/* The series in the order in which they first stand there. */
static uint32_t series_of(const chart *c, uint32_t point, bool *out_first) {
  uint32_t number = 0;
  for (uint32_t i = 0; i < point; i++) {
    if (strcmp(c->points[i].series, c->points[point].series) == 0) {
      *out_first = false;
      return series_of(c, i, &(bool){false});
    }
    bool new = true;
    for (uint32_t k = 0; k < i; k++) new = new &&strcmp(c->points[k].series, c->points[i].series) != 0;
    number += new;
  }
  *out_first = true;
  return number;
}

/* ---- lines ---- */

static double place(double value, double low, double high, double from, double to) {
  return from + (log10(value) - low) / (high - low) * (to - from);
}
static double place_x(const chart *c, double x) {
  return place(x, c->x_low, c->x_high, LEFT, WIDTH - RIGHT);
}
static double place_y(const chart *c, double y) {
  return place(y, c->y_low, c->y_high, HEIGHT - BOTTOM, TOP);
}

static void find_ranges(chart *c) {
  c->x_low = c->y_low = INFINITY;
  c->x_high = c->y_high = -INFINITY;
  for (uint32_t i = 0; i < c->count; i++) {
    c->x_low = fmin(c->x_low, log10(c->points[i].x));
    c->x_high = fmax(c->x_high, log10(c->points[i].x));
    c->y_low = fmin(c->y_low, log10(c->points[i].y));
    c->y_high = fmax(c->y_high, log10(c->points[i].y));
  }
  c->x_low -= 0.05;
  c->x_high += 0.05;
  c->y_low = floor(c->y_low); /* whole decades */
  c->y_high = fmax(ceil(c->y_high), c->y_low + 1);
}

static void draw_axes(const chart *c, const char *x_label) {
  char text[64];
  for (double decade = c->y_low; decade <= c->y_high; decade++) {
    double y = place_y(c, pow(10, decade));
    ph_canvas_line(c->canvas, LEFT, y, WIDTH - RIGHT, y, 1, grid);
    ph_canvas_text(c->canvas, LEFT - 8, y, FONT, PH_ANCHOR_END, 0, ink,
                   seconds_text(pow(10, decade), text, sizeof(text)));
  }
  for (uint32_t i = 0; i < c->count; i++) {
    bool seen = false;
    for (uint32_t k = 0; k < i; k++) seen = seen || c->points[k].x == c->points[i].x;
    if (seen) continue;
    double x = place_x(c, c->points[i].x);
    snprintf(text, sizeof(text), "%g", c->points[i].x);
    ph_canvas_line(c->canvas, x, TOP, x, HEIGHT - BOTTOM, 1, grid);
    ph_canvas_text(c->canvas, x, HEIGHT - BOTTOM + 16, FONT, PH_ANCHOR_MIDDLE, 0, ink, text);
  }
  ph_canvas_text(c->canvas, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 16, FONT, PH_ANCHOR_MIDDLE, 0, ink, x_label);
}

static void draw_point(const chart *c, uint32_t index) {
  const ph_chart_point *point = &c->points[index];
  bool first;
  uint32_t series = series_of(c, index, &first);
  ph_color color = colors[series % COLOR_COUNT];
  double x = place_x(c, point->x), y = place_y(c, point->y);
  const ph_chart_point *next = NULL; /* to the right */
  for (uint32_t i = 0; i < c->count; i++)
    if (strcmp(c->points[i].series, point->series) == 0 && c->points[i].x > point->x &&
        (next == NULL || c->points[i].x < next->x))
      next = &c->points[i];
  if (next != NULL) ph_canvas_line(c->canvas, x, y, place_x(c, next->x), place_y(c, next->y), 2, color);
  char time[32], tip[256];
  snprintf(tip, sizeof(tip), "%s, %g: %s", point->series, point->x, seconds_text(point->y, time, sizeof(time)));
  ph_canvas_box(c->canvas, x - 4, y - 4, 8, 8, color, tip);
  if (!first) return;
  double line = TOP + 8 + series * 18.0;
  ph_canvas_box(c->canvas, LEFT + 12, line - 5, 10, 10, color, NULL);
  ph_canvas_text(c->canvas, LEFT + 28, line, FONT, PH_ANCHOR_START, 0, ink, point->series);
}

/* ---- bars ---- */

static void draw_bars(const chart *c) {
  double most = 0;
  char text[32];
  for (uint32_t i = 0; i < c->count; i++) most = fmax(most, c->points[i].y);
  for (uint32_t i = 0; i < c->count; i++) {
    double y = TOP + (double)i * BAR, length = (WIDTH - NAMES - 90) * c->points[i].y / most;
    ph_canvas_text(c->canvas, NAMES - 8, y + BAR / 2.0, FONT - 2, PH_ANCHOR_END, 0, ink, c->points[i].series);
    ph_canvas_box(c->canvas, NAMES, y + 3, length, BAR - 6, colors[0], c->points[i].series);
    ph_canvas_text(c->canvas, NAMES + length + 6, y + BAR / 2.0, FONT - 2, PH_ANCHOR_START, 0, ink,
                   seconds_text(c->points[i].y, text, sizeof(text)));
  }
}

ph_status ph_chart_draw(const char *title, const char *x_label, const ph_chart_point *points, uint32_t count,
                        char **out, size_t *out_size, ph_error *error) {
  chart c = {.points = points, .count = count};
  ph_text text = {0};
  double height = x_label != NULL ? HEIGHT : TOP + (double)count * BAR + 24;
  PH_TRY(ph_canvas_svg(WIDTH, height, &c.canvas, error));
  ph_canvas_box(c.canvas, 0, 0, WIDTH, height, (ph_color){255, 255, 255}, NULL);
  ph_canvas_text(c.canvas, WIDTH / 2.0, 22, FONT + 2, PH_ANCHOR_MIDDLE, 0, ink, title);
  if (x_label != NULL && count > 0) {
    find_ranges(&c);
    draw_axes(&c, x_label);
    for (uint32_t i = 0; i < count; i++) draw_point(&c, i);
  } else {
    draw_bars(&c);
  }
  ph_status status = ph_canvas_finish(c.canvas, &text, error);
  ph_canvas_destroy(c.canvas);
  if (status != PH_OK) return status;
  *out = text.data;
  *out_size = text.length;
  return PH_OK;
}
