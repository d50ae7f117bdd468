/* Labels in columns: how wide a character is, and what a terminal must not be sent. */
#include "tensor/label.h"

#include <stdio.h>
#include <string.h>

typedef struct range {
  uint32_t first, last;
} range;

/* Unicode's East_Asian_Width W and F, joined where only unassigned or narrow-by-name characters lie between.  The C
 * library's wcwidth() depends on the locale, which a library must not set. */
static const range wide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23F3},   {0x2614, 0x2615},   {0x2648, 0x2653},
    {0x26BD, 0x26BE},   {0x2705, 0x2705},   {0x270A, 0x270B},   {0x274C, 0x274C},   {0x2753, 0x2757},
    {0x2795, 0x2797},   {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
    {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},
    {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18CFF}, {0x1AFF0, 0x1B2FF}, {0x1F200, 0x1F265},
    {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
};

/* Marks that sit on the character before them, and characters that cannot be seen, of the scripts in common use. */
static const range zero[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x05BF, 0x05BF}, {0x05C1, 0x05C2},   {0x05C4, 0x05C5},
    {0x0610, 0x061A}, {0x061C, 0x061C}, {0x064B, 0x065F}, {0x0670, 0x0670}, {0x06D6, 0x06DC},   {0x06DF, 0x06E4},
    {0x06E7, 0x06E8}, {0x06EA, 0x06ED}, {0x0900, 0x0902}, {0x093A, 0x093A}, {0x093C, 0x093C},   {0x0941, 0x0948},
    {0x094D, 0x094D}, {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF},   {0x1DC0, 0x1DFF},
    {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2064}, {0x2066, 0x2069}, {0x20D0, 0x20FF},   {0x302A, 0x302D},
    {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
};

static bool lies_in(const range *ranges, size_t count, uint32_t character) {
  for (size_t i = 0; i < count && ranges[i].first <= character; i++)
    if (character <= ranges[i].last) return true;
  return false;
}

static size_t columns(uint32_t character) {
  if (lies_in(zero, sizeof(zero) / sizeof(zero[0]), character)) return 0;
  return lies_in(wide, sizeof(wide) / sizeof(wide[0]), character) ? 2 : 1;
}

/* Bytes of the character at `text`, which goes to *out; 0 where no sound one stands there. */
static size_t decode(const char *text, uint32_t *out) {
  static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
  unsigned char lead = (unsigned char)text[0];
  size_t length = lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF8 ? 4 : 0;
  if (length <= 1) {
    *out = lead;
    return length;
  }
  uint32_t character = lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; i++) {
    unsigned char next = (unsigned char)text[i]; /* the NUL at the end is no continuation byte */
    if ((next & 0xC0) != 0x80) return 0;
    character = character << 6 | (next & 0x3F);
  }
  if (character < smallest[length] || character > 0x10FFFF || (character >= 0xD800 && character <= 0xDFFF)) return 0;
  *out = character;
  return length;
}

enum { GLYPH_SIZE = 8 };

/* One character as it is shown; returns the bytes it takes in `text`. */
static size_t show(const char *text, char out[GLYPH_SIZE], size_t *out_width) {
  uint32_t character = 0;
  size_t length = decode(text, &character);
  bool control = length > 0 && (character < 0x20 || (character >= 0x7F && character < 0xA0));
  if (length > 0 && !control) {
    memcpy(out, text, length);
    out[length] = '\0';
    *out_width = columns(character);
    return length;
  }
  if (length == 0) length = 1, character = (unsigned char)text[0];
  if (character == '\n')
    snprintf(out, GLYPH_SIZE, "\\n");
  else if (character == '\t')
    snprintf(out, GLYPH_SIZE, "\\t");
  else
    snprintf(out, GLYPH_SIZE, "\\x%02x", (unsigned)character & 0xFF);
  *out_width = strlen(out);
  return length;
}

const char *ph_label_shown(ph_arena *arena, const char *text, size_t limit, size_t *out_width) {
  enum { LONGEST_GLYPH = 4 }; /* of one byte: \x1b */
  static const char ellipsis[] = "…";
  char *shown = ph_arena_alloc(arena, strlen(text) * LONGEST_GLYPH + sizeof(ellipsis));
  if (shown == NULL) return NULL;
  size_t used = 0, width = 0, room_used = 0, room_width = 0; /* room_...: as far as an ellipsis still fits behind */
  while (*text != '\0') {
    char glyph[GLYPH_SIZE];
    size_t glyph_width, taken = show(text, glyph, &glyph_width);
    if (width + glyph_width > limit) {
      memcpy(shown + room_used, ellipsis, sizeof(ellipsis));
      *out_width = room_width + 1;
      return shown;
    }
    memcpy(shown + used, glyph, strlen(glyph));
    used += strlen(glyph);
    width += glyph_width;
    text += taken;
    if (width < limit) room_used = used, room_width = width;
  }
  shown[used] = '\0';
  *out_width = width;
  return shown;
}
