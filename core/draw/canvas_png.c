/* A canvas that draws a PNG, through Cairo, with text set by Pango: it finds glyphs for scripts that the first font
 * lacks. */
#include "base/error.h"
#include "draw/canvas.h"

#ifdef POLYHEAD_PANGOCAIRO

#include <math.h>
#include <pango/pangocairo.h>
#include <stdlib.h>

#include "base/memory.h"

enum { SCALE = 2 }; /* pixels per point, so that small labels stay sharp */

typedef struct png_canvas {
  ph_canvas base;
  cairo_surface_t *surface;
  cairo_t *cairo;
  PangoLayout *layout;
} png_canvas;

static void set_color(cairo_t *cairo, ph_color color) {
  cairo_set_source_rgb(cairo, color.red / 255.0, color.green / 255.0, color.blue / 255.0);
}

static void box(ph_canvas *canvas, double x, double y, double width, double height, ph_color color, const char *tip) {
  (void)tip;
  cairo_t *cairo = ((png_canvas *)canvas)->cairo;
  set_color(cairo, color);
  cairo_rectangle(cairo, x, y, width, height);
  cairo_fill(cairo);
}

static void line(ph_canvas *canvas, double x0, double y0, double x1, double y1, double width, ph_color color) {
  cairo_t *cairo = ((png_canvas *)canvas)->cairo;
  set_color(cairo, color);
  cairo_set_line_width(cairo, width);
  cairo_move_to(cairo, x0, y0);
  cairo_line_to(cairo, x1, y1);
  cairo_stroke(cairo);
}

static void text(ph_canvas *canvas, double x, double y, double size, ph_anchor anchor, double angle, ph_color color,
                 const char *words) {
  png_canvas *png = (png_canvas *)canvas;
  PangoFontDescription *font = pango_font_description_from_string("sans-serif");
  pango_font_description_set_absolute_size(font, size * PANGO_SCALE);
  pango_layout_set_font_description(png->layout, font);
  pango_font_description_free(font);
  pango_layout_set_text(png->layout, words, -1);
  int width, height;
  pango_layout_get_size(png->layout, &width, &height);
  double shift = anchor == PH_ANCHOR_START ? 0 : anchor == PH_ANCHOR_MIDDLE ? 0.5 : 1;
  cairo_save(png->cairo);
  set_color(png->cairo, color);
  cairo_translate(png->cairo, x, y);
  cairo_rotate(png->cairo, angle * acos(-1.0) / 180);
  cairo_move_to(png->cairo, -shift * width / PANGO_SCALE, -0.5 * height / PANGO_SCALE);
  pango_cairo_show_layout(png->cairo, png->layout);
  cairo_restore(png->cairo);
}

static cairo_status_t append(void *closure, const unsigned char *data, unsigned length) {
  ph_text_put(closure, (const char *)data, length);
  return ((ph_text *)closure)->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

static ph_status finish(ph_canvas *canvas, ph_text *out, ph_error *error) {
  png_canvas *png = (png_canvas *)canvas;
  cairo_status_t status = cairo_surface_write_to_png_stream(png->surface, append, out);
  if (status == CAIRO_STATUS_SUCCESS) return PH_OK;
  ph_text_free(out);
  return ph_fail(error, PH_INTERNAL, "the picture could not be drawn: %s", cairo_status_to_string(status));
}

static void destroy(ph_canvas *canvas) {
  png_canvas *png = (png_canvas *)canvas;
  g_object_unref(png->layout);
  cairo_destroy(png->cairo);
  cairo_surface_destroy(png->surface);
  free(png);
}

static const ph_canvas_kind kind = {box, line, text, finish, destroy};

ph_status ph_canvas_png(double width, double height, ph_canvas **out, ph_error *error) {
  png_canvas *png = ph_new_array(1, sizeof(*png));
  if (png == NULL) return ph_fail_memory(error);
  png->base.kind = &kind;
  png->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)ceil(width * SCALE), (int)ceil(height * SCALE));
  png->cairo = cairo_create(png->surface);
  png->layout = pango_cairo_create_layout(png->cairo);
  cairo_status_t status = cairo_status(png->cairo);
  if (status != CAIRO_STATUS_SUCCESS) {
    destroy(&png->base);
    return ph_fail(error, PH_INVALID, "a picture of %.0f by %.0f points: %s", width, height,
                   cairo_status_to_string(status));
  }
  cairo_scale(png->cairo, SCALE, SCALE);
  *out = &png->base;
  return PH_OK;
}

#else

ph_status ph_canvas_png(double width, double height, ph_canvas **out, ph_error *error) {
  (void)width;
  (void)height;
  (void)out;
  return ph_fail(error, PH_UNSUPPORTED,
                 "this build has no Pango and Cairo, so it draws no PNG: write a .svg, or build with "
                 "libpango1.0-dev");
}

#endif
