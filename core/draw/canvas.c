#include "draw/canvas.h"

void ph_canvas_box(ph_canvas *canvas, double x, double y, double width, double height, ph_color color,
                   const char *tip) {
  canvas->kind->box(canvas, x, y, width, height, color, tip);
}

void ph_canvas_line(ph_canvas *canvas, double x0, double y0, double x1, double y1, double width, ph_color color) {
  canvas->kind->line(canvas, x0, y0, x1, y1, width, color);
}

void ph_canvas_text(ph_canvas *canvas, double x, double y, double size, ph_anchor anchor, double angle, ph_color color,
                    const char *text) {
  canvas->kind->text(canvas, x, y, size, anchor, angle, color, text);
}

ph_status ph_canvas_finish(ph_canvas *canvas, ph_text *out, ph_error *error) {
  return canvas->kind->finish(canvas, out, error);
}

void ph_canvas_destroy(ph_canvas *canvas) {
  if (canvas != NULL) canvas->kind->destroy(canvas);
}
