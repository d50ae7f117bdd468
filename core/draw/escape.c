#include "draw/escape.h"

void ph_put_escaped(ph_text *to, const char *text) {
  for (; *text != '\0'; text++) {
    switch (*text) {
    case '&':
      ph_text_add(to, "&amp;");
      break;
    case '<':
      ph_text_add(to, "&lt;");
      break;
    case '>':
      ph_text_add(to, "&gt;");
      break;
    case '"':
      ph_text_add(to, "&quot;");
      break;
    default:
      if ((unsigned char)*text >= ' ' || *text == '\n' || *text == '\t') ph_text_put(to, text, 1);
    }
  }
}
