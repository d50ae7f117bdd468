/* Numbers and expressions: what they mean, and what is said about those that mean nothing. */
#include <locale.h>
#include <math.h>

#include "graph/expr.h"
#include "graph/number.h"
#include "scratch.h"

static ph_status value_of(const void *user, const char *name, ph_dim *out, ph_error *error) {
  (void)user;
  *out = (ph_dim){.value = strcmp(name, "model") == 0 ? 64 : 8, .varies = strcmp(name, "seq") == 0};
  if (strcmp(name, "model") == 0 || strcmp(name, "heads") == 0 || strcmp(name, "seq") == 0) return PH_OK;
  return ph_fail(error, PH_INVALID, "no '%s'", name);
}

static const ph_scope scope = {value_of, NULL};

static void numbers(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool is_number, is_integer, refused;
    int64_t integer;
    double real;
  } cases[] = {
      {"0", true, true, false, 0, 0},
      {"-17", true, true, false, -17, -17},
      {"+5", true, true, false, 5, 5},
      {"9223372036854775807", true, true, false, INT64_MAX, 9223372036854775807.0},
      {"-9223372036854775808", true, true, false, INT64_MIN, -9223372036854775808.0},
      {"9223372036854775808", true, false, false, 0, 9223372036854775808.0},
      {".5", true, false, false, 0, 0.5},
      {"1.e-5", true, false, false, 0, 1e-5},
      {"+1E-5", true, false, false, 0, 1e-5},
      {"1e2", true, false, false, 0, 100},
      {"-2.5", true, false, false, 0, -2.5},
      {"010", true, true, true, 10, 10},
      {"00", true, true, true, 0, 0},
      {"0.5", true, false, false, 0, 0.5},
      {"1e999", true, false, true, 0, INFINITY},
      {"", false, false, false, 0, 0},
      {".", false, false, false, 0, 0},
      {"-", false, false, false, 0, 0},
      {"e5", false, false, false, 0, 0},
      {"0x10", false, false, false, 0, 0},
      {"1_000", false, false, false, 0, 0},
      {"1e", false, false, false, 0, 0},
      {"--1", false, false, false, 0, 0},
      {"inf", false, false, false, 0, 0},
      {"nan", false, false, false, 0, 0},
      {"1 ", false, false, false, 0, 0},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    ph_number number;
    bool is_number = ph_number_parse(cases[i].text, &number);
    if (is_number != cases[i].is_number) fail_msg("'%s'", cases[i].text);
    if (!is_number) continue;
    if (number.is_integer != cases[i].is_integer || number.integer != cases[i].integer ||
        number.real != cases[i].real || (number.problem != NULL) != cases[i].refused)
      fail_msg("'%s' is %lld, %.17g, %s", cases[i].text, (long long)number.integer, number.real,
               number.problem != NULL ? number.problem : "taken");
  }
}

static void numbers_ignore_the_locale(void **state) {
  (void)state;
  static const char *const with_comma[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
  size_t i = 0;
  while (i < 5 && setlocale(LC_NUMERIC, with_comma[i]) == NULL) i++;
  if (i == 5) {
    print_message("skipped: no locale with a decimal comma is installed\n");
    skip();
  }
  ph_number number;
  bool is_number = ph_number_parse("2.5", &number);
  setlocale(LC_NUMERIC, "C");
  assert_true(is_number && number.real == 2.5);
}

static void integers(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t value;
    bool varies;
  } cases[] = {
      {"7", 7, false},
      {"model / heads", 8, false},
      {"2 + 3 * 4", 14, false},
      {"(2 + 3) * 4", 20, false},
      {"10 - 3 - 2", 5, false},
      {"64 / 4 / 2", 8, false},
      {"-model", -64, false},
      {"--7", 7, false},
      {"2 * -3 + +1", -5, false},
      {"seq + 1", 9, true},
      {"model * 0 + seq", 8, true},
      {" ( model ) ", 64, false},
      {"-9 / 3", -3, false},
      {"6 / -1", -6, false},
  };
  ph_arena arena = {0};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    ph_error error = PH_ERROR_INIT;
    const ph_expr *expr;
    ph_dim dim;
    assert_ok(ph_expr_parse(&arena, cases[i].text, NULL, &expr, &error), error);
    assert_ok(ph_expr_integer(expr, &scope, &dim, &error), error);
    if (dim.value != cases[i].value || dim.varies != cases[i].varies)
      fail_msg("'%s' is %lld", cases[i].text, (long long)dim.value);
    assert_string_equal(ph_expr_text(expr), cases[i].text);
  }
  ph_arena_free(&arena);
}

static void reals(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double value;
    bool varies;
  } cases[] = {
      {"1 / 3", 1.0 / 3, false},
      {"1e-5", 1e-5, false},
      {"sqrt(model)", 8, false},
      {"1 / sqrt( model / heads )", 1 / 2.8284271247461903, false},
      {"sqrt(seq) + .5", 3.3284271247461903, true},
      {"-1.5 * 2", -3, false},
  };
  ph_arena arena = {0};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    ph_error error = PH_ERROR_INIT;
    const ph_expr *expr;
    double value;
    bool varies;
    assert_ok(ph_expr_parse(&arena, cases[i].text, NULL, &expr, &error), error);
    assert_ok(ph_expr_real(expr, &scope, &value, &varies, &error), error);
    if (fabs(value - cases[i].value) > 1e-15 || varies != cases[i].varies)
      fail_msg("'%s' is %.17g", cases[i].text, value);
  }
  ph_arena_free(&arena);
}

/* Said while parsing. */
static void malformed(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"", "'' ends where a number, a dim or '(' is expected"},
      {"2 +", "'2 +' ends where a number, a dim or '(' is expected"},
      {"(model", "'(model' ends where ')' is expected"},
      {"model)", "'model)' has ')' where an operator is expected"},
      {"2 model", "'2 model' has 'model' where an operator is expected"},
      {"2model", "'2model' has 'model' where an operator is expected"},
      {"2 × model", "'2 × model' has '× model' where an operator is expected"},
      {"× 2", "'× 2' has '× 2' where a number, a dim or '(' is expected"},
      {"log(model)", "'log(model)' calls 'log', but sqrt() is the only function"},
      {"sqrt(model", "'sqrt(model' ends where ')' is expected"},
      {"010 + 1", "'010' has a leading zero"},
      {"1e999", "'1e999' is too large"},
      {"2 * i", "'i' is the round of a repeat, and there is none here"},
      {"a.b", "'a.b' has '.b' where an operator is expected"},
      {"2 ** 3", "'2 ** 3' has '* 3' where a number, a dim or '(' is expected"},
  };
  ph_arena arena = {0};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    ph_error error = PH_ERROR_INIT;
    const ph_expr *expr;
    assert_int_equal(ph_expr_parse(&arena, cases[i][0], NULL, &expr, &error), PH_INVALID);
    assert_string_equal(error.message, cases[i][1]);
  }
  ph_arena_free(&arena);
}

/* Said while evaluating; the text names the part that is at fault. */
static void without_value(void **state) {
  (void)state;
  static const struct {
    const char *text, *integer, *real;
  } cases[] = {
      {"1 + 7 / 2", "'7 / 2' is 7 / 2, which does not come out even", NULL},
      {"model / (heads - 8)", "'model / (heads - 8)' divides 64 by 0", "'model / (heads - 8)' is no finite number"},
      {"9223372036854775807 + 1", "'9223372036854775807 + 1' does not fit in 64 bits", NULL},
      {"-9223372036854775807 - 2", "'-9223372036854775807 - 2' does not fit in 64 bits", NULL},
      {"(-9223372036854775807 - 1) / -1", "'(-9223372036854775807 - 1) / -1' does not fit in 64 bits", NULL},
      {"model * 9223372036854775807", "'model * 9223372036854775807' does not fit in 64 bits", NULL},
      {"9223372036854775808", "'9223372036854775808' does not fit in 64 bits", NULL},
      {"1e2", "'1e2' is no integer, which is needed here", NULL},
      {"2.0 * model", "'2.0' is no integer, which is needed here", NULL},
      {"sqrt(64)", "'sqrt(64)' is no integer, which is needed here", NULL},
      {"sqrt(-1)", "'sqrt(-1)' is no integer, which is needed here", "'sqrt(-1)' is no finite number"},
      {"1e308 * 10", "'1e308' is no integer, which is needed here", "'1e308 * 10' is no finite number"},
      {"depth", "no 'depth'", "no 'depth'"},
  };
  ph_arena arena = {0};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    ph_error error = PH_ERROR_INIT;
    const ph_expr *expr;
    ph_dim dim;
    double real;
    bool varies;
    assert_ok(ph_expr_parse(&arena, cases[i].text, NULL, &expr, &error), error);
    assert_int_equal(ph_expr_integer(expr, &scope, &dim, &error), PH_INVALID);
    assert_string_equal(error.message, cases[i].integer);
    ph_status status = ph_expr_real(expr, &scope, &real, &varies, &error);
    assert_int_equal(status, cases[i].real != NULL ? PH_INVALID : PH_OK);
    if (cases[i].real != NULL) assert_string_equal(error.message, cases[i].real);
  }
  ph_arena_free(&arena);
}

static ph_status parse_repeated(const char *open, const char *middle, const char *close, size_t times,
                                ph_error *error) {
  ph_arena arena = {0};
  char *text = calloc(times * (strlen(open) + strlen(close)) + strlen(middle) + 1, 1), *at = text;
  assert_non_null(text);
  for (size_t i = 0; i < times; i++) at += sprintf(at, "%s", open);
  at += sprintf(at, "%s", middle);
  for (size_t i = 0; i < times; i++) at += sprintf(at, "%s", close);
  const ph_expr *expr;
  ph_dim dim;
  ph_status status = ph_expr_parse(&arena, text, NULL, &expr, error);
  if (status == PH_OK) assert_ok(ph_expr_integer(expr, &scope, &dim, error), *error);
  free(text);
  ph_arena_free(&arena);
  return status;
}

static void depth_is_bounded(void **state) {
  (void)state;
  ph_error error = PH_ERROR_INIT;
  assert_ok(parse_repeated("(", "1", ")", 99, &error), error);
  assert_int_equal(parse_repeated("(", "1", ")", 100, &error), PH_INVALID);
  assert_string_equal(error.message, "the expression is nested deeper than 100");
  assert_int_equal(parse_repeated("(", "1", ")", 1000000, &error), PH_INVALID);
  assert_int_equal(parse_repeated("-", "1", "", 1000000, &error), PH_INVALID);
  assert_int_equal(parse_repeated("sqrt(", "1", ")", 1000000, &error), PH_INVALID);
  assert_ok(parse_repeated("1+", "1", "", 100, &error), error);
  assert_int_equal(parse_repeated("1+", "1", "", 1000000, &error), PH_INVALID);
  assert_string_equal(error.message, "the expression has more than 100 operations in a row");
}

static void count_names(void *user, const char *name) {
  char *text = user;
  strcat(text, name);
  strcat(text, " ");
}

static void names_and_rounds(void **state) {
  (void)state;
  ph_arena arena = {0};
  ph_error error = PH_ERROR_INIT;
  const ph_expr *expr;
  ph_dim dim;
  char names[64] = "";
  int64_t round = 3;
  assert_ok(ph_expr_parse(&arena, "model / heads + i * sqrt(seq)", &round, &expr, &error), error);
  ph_expr_names(expr, count_names, names);
  assert_string_equal(names, "model heads seq ");
  assert_null(ph_expr_plain_name(expr));
  assert_ok(ph_expr_parse(&arena, "10 * i + 1", &round, &expr, &error), error);
  assert_ok(ph_expr_integer(expr, &scope, &dim, &error), error);
  assert_int_equal(dim.value, 31);
  assert_ok(ph_expr_parse(&arena, " seq", NULL, &expr, &error), error);
  assert_string_equal(ph_expr_plain_name(expr), "seq");
  assert_ok(ph_expr_integer(expr, &scope, &dim, &error), error);
  assert_string_equal(dim.name, "seq");
  assert_true(dim.varies);
  assert_ok(ph_expr_number(&arena, -5, &expr, &error), error);
  assert_ok(ph_expr_integer(expr, &scope, &dim, &error), error);
  assert_int_equal(dim.value, -5);
  assert_null(dim.name);
  assert_string_equal(ph_expr_text(expr), "-5");
  ph_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers),          cmocka_unit_test(numbers_ignore_the_locale),
      cmocka_unit_test(integers),         cmocka_unit_test(reals),
      cmocka_unit_test(malformed),        cmocka_unit_test(without_value),
      cmocka_unit_test(depth_is_bounded), cmocka_unit_test(names_and_rounds),
  };
  return cmocka_run_group_tests_name("expr", tests, NULL, NULL);
}
