/* A canvas that writes SVG: one rect for each box, one text element for each line of text. */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "draw/canvas.h"
#include "draw/escape.h"

typedef struct svg_canvas {
  ph_canvas base;
  ph_text text;
} svg_canvas;

static void box(ph_canvas *canvas, double x, double y, double width, double height, ph_color color, const char *tip) {
  ph_text *to = &((svg_canvas *)canvas)->text;
  ph_text_add(to, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#%02x%02x%02x\"", x, y, width,
              height, color.red, color.green, color.blue);
  if (tip == NULL) {
    ph_text_add(to, "/>\n");
    return;
  }
  ph_text_add(to, "><title>");
  ph_put_escaped(to, tip);
  ph_text_add(to, "</title></rect>\n");
}

static void line(ph_canvas *canvas, double x0, double y0, double x1, double y1, double width, ph_color color) {
  ph_text_add(
      &((svg_canvas *)canvas)->text,
      "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke=\"#%02x%02x%02x\" stroke-width=\"%.2f\"/>\n", x0,
      y0, x1, y1, color.red, color.green, color.blue, width);
}

static void text(ph_canvas *canvas, double x, double y, double size, ph_anchor anchor, double angle, ph_color color,
                 const char *words) {
  static const char *const anchors[] = {"start", "middle", "end"};
  ph_text *to = &((svg_canvas *)canvas)->text;
  ph_text_add(to,
              "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.1f\" text-anchor=\"%s\" dominant-baseline=\"central\" "
              "fill=\"#%02x%02x%02x\"",
              x, y, size, anchors[anchor], color.red, color.green, color.blue);
  if (angle != 0) ph_text_add(to, " transform=\"rotate(%.1f %.2f %.2f)\"", angle, x, y);
  ph_text_add(to, ">");
  ph_put_escaped(to, words);
  ph_text_add(to, "</text>\n");
}

static ph_status finish(ph_canvas *canvas, ph_text *out, ph_error *error) {
  svg_canvas *svg = (svg_canvas *)canvas;
  ph_text_add(&svg->text, "</svg>\n");
  if (svg->text.failed) return ph_fail_memory(error);
  *out = svg->text;
  svg->text = (ph_text){0};
  return PH_OK;
}

static void destroy(ph_canvas *canvas) {
  ph_text_free(&((svg_canvas *)canvas)->text);
  free(canvas);
}

static const ph_canvas_kind kind = {box, line, text, finish, destroy};

ph_status ph_canvas_svg(double width, double height, ph_canvas **out, ph_error *error) {
  svg_canvas *svg = ph_new_array(1, sizeof(*svg));
  if (svg == NULL) return ph_fail_memory(error);
  svg->base.kind = &kind;
  ph_text_add(&svg->text,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
              "font-family=\"sans-serif\">\n",
              width, height, width, height);
  *out = &svg->base;
  return PH_OK;
}
