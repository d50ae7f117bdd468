/* A canvas: filled boxes, straight lines and lines of text, as SVG or as PNG. */
#ifndef POLYHEAD_DRAW_CANVAS_H
#define POLYHEAD_DRAW_CANVAS_H

#include <polyhead/backend.h>

#include "base/text.h"

typedef struct ph_color {
  uint8_t red, green, blue;
} ph_color;

typedef enum ph_anchor { PH_ANCHOR_START, PH_ANCHOR_MIDDLE, PH_ANCHOR_END } ph_anchor;

typedef struct ph_canvas ph_canvas;

/* Both are in points.  PH_UNSUPPORTED for PNG in a build without Pango and Cairo. */
PH_NODISCARD ph_status ph_canvas_svg(double width, double height, ph_canvas **out, ph_error *error);
PH_NODISCARD ph_status ph_canvas_png(double width, double height, ph_canvas **out, ph_error *error);

/* What goes wrong is kept until the end.  `tip`, where not NULL, is shown under the pointer (SVG). */
void ph_canvas_box(ph_canvas *canvas, double x, double y, double width, double height, ph_color color, const char *tip);
void ph_canvas_line(ph_canvas *canvas, double x0, double y0, double x1, double y1, double width, ph_color color);
/* (x, y) is the anchor, at half the height of the letters; `angle` in degrees, clockwise. */
void ph_canvas_text(ph_canvas *canvas, double x, double y, double size, ph_anchor anchor, double angle, ph_color color,
                    const char *text);
/* Ends the drawing and gives its bytes, to be freed with ph_text_free(). */
PH_NODISCARD ph_status ph_canvas_finish(ph_canvas *canvas, ph_text *out, ph_error *error);
void ph_canvas_destroy(ph_canvas *canvas); /* NULL is fine */

/* For the two kinds of canvas. */
typedef struct ph_canvas_kind {
  void (*box)(ph_canvas *canvas, double x, double y, double width, double height, ph_color color, const char *tip);
  void (*line)(ph_canvas *canvas, double x0, double y0, double x1, double y1, double width, ph_color color);
  void (*text)(ph_canvas *canvas, double x, double y, double size, ph_anchor anchor, double angle, ph_color color,
               const char *text);
  ph_status (*finish)(ph_canvas *canvas, ph_text *out, ph_error *error);
  void (*destroy)(ph_canvas *canvas);
} ph_canvas_kind;

struct ph_canvas {
  const ph_canvas_kind *kind;
};

#endif
