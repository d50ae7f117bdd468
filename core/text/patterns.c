/* Regular expressions by PCRE2, where the build has it. */
#ifdef POLYHEAD_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#endif

#include "text/steps.h"

#ifdef POLYHEAD_PCRE2

ph_status ph_pattern_compile(const char *text, pcre2_code **out, ph_error *error) {
  int code;
  size_t offset;
  *out = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &code, &offset, NULL);
  if (*out != NULL) return PH_OK;
  char message[128] = "";
  pcre2_get_error_message(code, (PCRE2_UCHAR *)message, sizeof(message));
  return ph_fail(error, PH_INVALID, "the regular expression '%s' is wrong at character %zu: %s", text, offset, message);
}

void ph_pattern_free(pcre2_code *pattern) {
  pcre2_code_free(pattern);
}

ph_status ph_pattern_find(const pcre2_code *pattern, const char *text, size_t size, size_t from, bool *out_found,
                          size_t *out_start, size_t *out_end, ph_error *error) {
  pcre2_match_data *match = pcre2_match_data_create_from_pattern(pattern, NULL);
  if (match == NULL) return ph_fail_memory(error);
  int count = pcre2_match(pattern, (PCRE2_SPTR)text, size, from, 0, match, NULL);
  *out_found = count > 0;
  if (*out_found) {
    const size_t *bounds = pcre2_get_ovector_pointer(match);
    *out_start = bounds[0];
    *out_end = bounds[1];
  }
  pcre2_match_data_free(match);
  if (count > 0 || count == PCRE2_ERROR_NOMATCH) return PH_OK;
  char message[128] = "";
  pcre2_get_error_message(count, (PCRE2_UCHAR *)message, sizeof(message));
  return ph_fail(error, PH_INVALID, "the text cannot be cut into words: %s", message);
}

#else

static ph_status refuse(ph_error *error) {
  return ph_fail(error, PH_UNSUPPORTED, "this tokenizer needs regular expressions, and the build has no PCRE2");
}

ph_status ph_pattern_compile(const char *text, struct pcre2_real_code_8 **out, ph_error *error) {
  (void)text, (void)out;
  return refuse(error);
}

void ph_pattern_free(struct pcre2_real_code_8 *pattern) {
  (void)pattern; /* there is none */
}

ph_status ph_pattern_find(const struct pcre2_real_code_8 *pattern, const char *text, size_t size, size_t from,
                          bool *out_found, size_t *out_start, size_t *out_end, ph_error *error) {
  (void)pattern, (void)text, (void)size, (void)from, (void)out_found, (void)out_start, (void)out_end;
  return refuse(error);
}

#endif
