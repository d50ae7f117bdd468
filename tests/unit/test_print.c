/* Printed tensors: NumPy's text (made with NumPy 2.4), and tables with labels. */
#include <locale.h>
#include <math.h>
#include <polyhead/tensor.h>

#include "base/dtype.h"
#include "scratch.h"

/* The text of a tensor, which is released; freed by the caller. */
static char *printed(ph_tensor *tensor, const ph_print_options *options) {
  char *text = NULL;
  size_t size = 0;
  FILE *to = open_memstream(&text, &size);
  assert_non_null(to);
  ph_tensor_print(to, tensor, options);
  assert_int_equal(fclose(to), 0);
  ph_tensor_release(tensor);
  return text;
}

static void assert_printed(ph_tensor *tensor, const ph_print_options *options, const char *expected) {
  char *text = printed(tensor, options);
  assert_string_equal(text, expected);
  free(text);
}

static ph_tensor *make(ph_dtype dtype, uint32_t rank, const int64_t *dims, const double *values) {
  ph_tensor *tensor;
  assert_int_equal(ph_tensor_create(dtype, rank, dims, &tensor, NULL), PH_OK);
  for (size_t i = 0; i < tensor->count; i++)
    if (ph_dtype_is_real(dtype))
      ph_write_real(dtype, tensor->data, i, values[i]);
    else
      ph_write_integer(dtype, tensor->data, i, (int64_t)values[i]);
  return tensor;
}

#define LIST(dtype, ...)                                                                                               \
  make(dtype, 1, (int64_t[]){sizeof((double[]){__VA_ARGS__}) / sizeof(double)}, (double[]){__VA_ARGS__})
#define SCALAR(dtype, value) make(dtype, 0, NULL, (double[]){value})

/* 0, step, 2 step, ... */
static ph_tensor *ramp(ph_dtype dtype, uint32_t rank, const int64_t *dims, double start, double step) {
  ph_tensor *tensor;
  assert_int_equal(ph_tensor_create(dtype, rank, dims, &tensor, NULL), PH_OK);
  for (size_t i = 0; i < tensor->count; i++)
    if (ph_dtype_is_real(dtype))
      ph_write_real(dtype, tensor->data, i, start + step * (double)i);
    else
      ph_write_integer(dtype, tensor->data, i, (int64_t)(start + step * (double)i));
  return tensor;
}

static void numbers_alone(void **state) {
  (void)state;
  assert_printed(SCALAR(PH_F32, 1), NULL, "1.0\n");
  assert_printed(SCALAR(PH_F32, -0.5), NULL, "-0.5\n");
  assert_printed(SCALAR(PH_F32, 0), NULL, "0.0\n");
  assert_printed(SCALAR(PH_F32, 1e-6), NULL, "1e-06\n");
  assert_printed(SCALAR(PH_F32, NAN), NULL, "nan\n");
  assert_printed(SCALAR(PH_I64, -12), NULL, "-12\n");
  assert_printed(SCALAR(PH_BOOL, 1), NULL, "True\n");
}

static void lists_as_numpy_writes_them(void **state) {
  (void)state;
  assert_printed(LIST(PH_F32, 1, 2, 3), NULL, "[1. 2. 3.]\n");
  assert_printed(LIST(PH_F32, 0.1, 0.25, -1), NULL, "[ 0.1   0.25 -1.  ]\n");
  assert_printed(LIST(PH_F32, 0, -0.0), NULL, "[ 0. -0.]\n");
  assert_printed(LIST(PH_F32, 1, NAN, INFINITY, -INFINITY), NULL, "[  1.  nan  inf -inf]\n");
  assert_printed(LIST(PH_F32, NAN, NAN), NULL, "[nan nan]\n");
  assert_printed(LIST(PH_F32, 1e-5, 1.5), NULL, "[1.0e-05 1.5e+00]\n");
  assert_printed(LIST(PH_F32, 1e-5, 1), NULL, "[1.e-05 1.e+00]\n");
  assert_printed(LIST(PH_F32, 1, 1001), NULL, "[1.000e+00 1.001e+03]\n");
  assert_printed(LIST(PH_F32, 999999, 20000), NULL, "[999999.  20000.]\n");
  assert_printed(LIST(PH_F32, 1000000, 20000), NULL, "[1.e+06 2.e+04]\n");
  assert_printed(LIST(PH_F16, 0.1, 2), NULL, "[0.1 2. ]\n");
  assert_printed(LIST(PH_BF16, 0.1, 3.140625), NULL, "[0.1  3.14]\n");
  assert_printed(LIST(PH_I32, 1, -20, 300), NULL, "[  1 -20 300]\n");
  assert_printed(LIST(PH_BOOL, 1, 0), NULL, "[ True False]\n");
  assert_printed(LIST(PH_BOOL, 1, 1), NULL, "[ True  True]\n");
}

static void at_most_six_digits_unless_exact(void **state) {
  (void)state;
  const ph_print_options exact = {.struct_size = sizeof(exact), .exact = true};
  assert_printed(LIST(PH_F32, 1.0 / 3, 200.0 / 3), NULL, "[ 0.3333 66.6667]\n");
  assert_printed(LIST(PH_F32, 1.0 / 3, 200.0 / 3), &exact, "[ 0.33333334 66.666664  ]\n");
  assert_printed(LIST(PH_F32, 1e-8 / 3), NULL, "[3.33333e-09]\n");
  assert_printed(LIST(PH_F32, 1e-8 / 3), &exact, "[3.3333334e-09]\n");
  assert_printed(SCALAR(PH_F32, 0.1), &exact, "0.1\n");
  /* A caller built before `exact` was there. */
  const ph_print_options old = {.struct_size = offsetof(ph_print_options, exact), .exact = true};
  assert_printed(SCALAR(PH_F32, 1.0 / 3), &old, "0.333333\n");
}

static void empty_ones(void **state) {
  (void)state;
  assert_printed(make(PH_F32, 1, (int64_t[]){0}, NULL), NULL, "[]\n");
  assert_printed(make(PH_F32, 3, (int64_t[]){2, 0, 3}, NULL), NULL, "[]\n");
}

static void brackets_and_lines(void **state) {
  (void)state;
  assert_printed(ramp(PH_I64, 2, (int64_t[]){2, 3}, 0, 1), NULL, "[[0 1 2]\n [3 4 5]]\n");
  assert_printed(ramp(PH_F32, 3, (int64_t[]){2, 2, 2}, 0, 0.5), NULL,
                 "[[[0.  0.5]\n  [1.  1.5]]\n\n [[2.  2.5]\n  [3.  3.5]]]\n");
  assert_printed(ramp(PH_I32, 4, (int64_t[]){2, 1, 1, 1}, 0, 1), NULL, "[[[[0]]]\n\n\n [[[1]]]]\n");
  /* 75 columns, and no space at the end of a line. */
  assert_printed(ramp(PH_F32, 1, (int64_t[]){20}, 8.5, 0.5), NULL,
                 "[ 8.5  9.   9.5 10.  10.5 11.  11.5 12.  12.5 13.  13.5 14.  14.5 15.\n"
                 " 15.5 16.  16.5 17.  17.5 18. ]\n");
}

static void many_are_shortened(void **state) {
  (void)state;
  assert_printed(ramp(PH_I64, 1, (int64_t[]){1001}, 0, 1), NULL, "[   0    1    2 ...  998  999 1000]\n");
  assert_printed(ramp(PH_I32, 2, (int64_t[]){200, 6}, 0, 1), NULL,
                 "[[   0    1    2    3    4    5]\n"
                 " [   6    7    8    9   10   11]\n"
                 " [  12   13   14   15   16   17]\n"
                 " ...\n"
                 " [1182 1183 1184 1185 1186 1187]\n"
                 " [1188 1189 1190 1191 1192 1193]\n"
                 " [1194 1195 1196 1197 1198 1199]]\n");
  assert_printed(ramp(PH_F32, 3, (int64_t[]){7, 1, 200}, 1, 0.5), NULL,
                 "[[[  1.    1.5   2.  ...  99.5 100.  100.5]]\n\n"
                 " [[101.  101.5 102.  ... 199.5 200.  200.5]]\n\n"
                 " [[201.  201.5 202.  ... 299.5 300.  300.5]]\n\n"
                 " ...\n\n"
                 " [[401.  401.5 402.  ... 499.5 500.  500.5]]\n\n"
                 " [[501.  501.5 502.  ... 599.5 600.  600.5]]\n\n"
                 " [[601.  601.5 602.  ... 699.5 700.  700.5]]]\n");
  /* Exactly the threshold is printed whole. */
  char *text = printed(ramp(PH_I64, 1, (int64_t[]){1000}, 0, 1), NULL);
  assert_null(strstr(text, "..."));
  free(text);
}

/* ---- tables
 * ---------------------------------------------------------------------------------------------------------- */

static const char *const words[] = {"小红", "很", "喜欢", "吃", "苹果"};

/* The weights of configs/five_words.yaml. */
static ph_tensor *word_weights(void) {
  static const double x[5][2] = {{2, 3}, {1, 1}, {2, 2}, {1, 2}, {3, 1}};
  double weights[25];
  for (int i = 0; i < 5; i++) {
    double sum = 0;
    for (int j = 0; j < 5; j++) {
      double score = ((x[i][0] + x[i][1]) * x[j][1] + x[i][1] * x[j][0]) / sqrt(2);
      sum += weights[i * 5 + j] = exp(score);
    }
    for (int j = 0; j < 5; j++) weights[i * 5 + j] /= sum;
  }
  return make(PH_F32, 2, (int64_t[]){5, 5}, weights);
}

static void labels_head_rows_and_columns(void **state) {
  (void)state;
  const char *const *both[] = {words, words}, *const * rows[] = {words, NULL}, *const * columns[] = {NULL, words};
  ph_print_options options = {.struct_size = sizeof(options), .labels = both};
  assert_printed(word_weights(), &options,
                 "        小红      很    喜欢      吃    苹果\n"
                 "小红  0.9617  0.0001  0.0280  0.0034  0.0068\n"
                 "很    0.6614  0.0193  0.1608  0.0793  0.0793\n"
                 "喜欢  0.9185  0.0008  0.0543  0.0132  0.0132\n"
                 "吃    0.8253  0.0029  0.0989  0.0241  0.0488\n"
                 "苹果  0.9115  0.0016  0.0539  0.0266  0.0065\n");
  options.labels = rows;
  assert_printed(ramp(PH_F32, 2, (int64_t[]){3, 2}, 8, 1), &options,
                 "       0   1\n"
                 "小红   8   9\n"
                 "很    10  11\n"
                 "喜欢  12  13\n");
  options.labels = columns;
  assert_printed(ramp(PH_BOOL, 2, (int64_t[]){2, 3}, 0, 1), &options,
                 "    小红     很   喜欢\n"
                 "0  False   True   True\n"
                 "1   True   True   True\n");
}

/* What is masked is exactly 0, and stands out from what is merely small. */
static void zeros_and_odd_values_in_a_table(void **state) {
  (void)state;
  const char *const *labels[] = {words, words};
  const ph_print_options options = {.struct_size = sizeof(options), .labels = labels};
  static const double values[] = {1, 0, 0.75, 1e-9, NAN, -INFINITY};
  assert_printed(make(PH_F32, 2, (int64_t[]){3, 2}, values), &options,
                 "      小红    很\n"
                 "小红  1.00  0   \n"
                 "很    0.75  0.00\n"
                 "喜欢   nan  -inf\n");
  static const double small[] = {1.5e-7, 0, 2e-5, 1e-9};
  assert_printed(make(PH_F32, 2, (int64_t[]){2, 2}, small), &options,
                 "         小红       很\n"
                 "小红  1.5e-07        0\n"
                 "很    2.0e-05  1.0e-09\n");
}

static void a_list_with_labels(void **state) {
  (void)state;
  const char *const *labels[] = {words};
  const ph_print_options options = {.struct_size = sizeof(options), .labels = labels};
  assert_printed(LIST(PH_I64, -3, 97, 5), &options, "小红  -3\n很    97\n喜欢   5\n");
}

static void outer_axes_are_headings(void **state) {
  (void)state;
  static const char *const heads[] = {"left", "right"};
  const char *const *labels[] = {NULL, heads, words, words};
  const ph_print_options options = {.struct_size = sizeof(options), .labels = labels};
  assert_printed(ramp(PH_F32, 4, (int64_t[]){1, 2, 2, 2}, -0.5, 0.25), &options,
                 "[0, left, :, :]\n"
                 "       小红     很\n"
                 "小红  -0.50  -0.25\n"
                 "很     0      0.25\n"
                 "\n"
                 "[0, right, :, :]\n"
                 "       小红     很\n"
                 "小红   0.50   0.75\n"
                 "很     1.00   1.25\n");
}

static void wide_tables_are_split_and_long_ones_shortened(void **state) {
  (void)state;
  char texts[400][16];
  const char *many[400];
  for (int i = 0; i < 400; i++) {
    snprintf(texts[i], sizeof(texts[i]), "t%d", i);
    many[i] = texts[i];
  }
  const char *const *labels[] = {words, many};
  const ph_print_options options = {.struct_size = sizeof(options), .labels = labels};
  assert_printed(ramp(PH_I64, 2, (int64_t[]){2, 20}, 100, 1), &options,
                 "       t0   t1   t2   t3   t4   t5   t6   t7   t8   t9  t10  t11  t12  t13\n"
                 "小红  100  101  102  103  104  105  106  107  108  109  110  111  112  113\n"
                 "很    120  121  122  123  124  125  126  127  128  129  130  131  132  133\n"
                 "\n"
                 "      t14  t15  t16  t17  t18  t19\n"
                 "小红  114  115  116  117  118  119\n"
                 "很    134  135  136  137  138  139\n");
  const char *const *three_labels[] = {NULL, many, many};
  const ph_print_options three_options = {.struct_size = sizeof(options), .labels = three_labels};
  char *text = printed(ramp(PH_I64, 3, (int64_t[]){7, 100, 9}, 0, 1), &three_options);
  static const char first[] = "[0, :, :]\n"
                              "       t0    t1    t2  ...    t6    t7    t8\n"
                              "t0      0     1     2  ...     6     7     8\n"
                              "t1      9    10    11  ...    15    16    17\n"
                              "t2     18    19    20  ...    24    25    26\n"
                              "...\n"
                              "t97   873   874   875  ...   879   880   881\n"
                              "t98   882   883   884  ...   888   889   890\n"
                              "t99   891   892   893  ...   897   898   899\n"
                              "\n[1, :, :]\n";
  assert_memory_equal(text, first, strlen(first));
  assert_contains(text, "\n\n[2, :, :]\n");
  assert_contains(text, "\n\n[...]\n\n[4, :, :]\n");
  assert_null(strstr(text, "[3, :, :]"));
  assert_contains(text, "t99  6291  6292  6293  ...  6297  6298  6299\n");
  free(text);
}

/* What a terminal would obey is shown, not sent; what is too long is cut. */
static void labels_are_made_safe(void **state) {
  (void)state;
  static const char *const rows[] = {
      "a\nb", "\x1b[31m", "bad\xff", "e\u0301", "0123456789abcdefg", "苹果苹果苹果苹果苹", "👍"};
  const char *const *labels[] = {rows};
  const ph_print_options options = {.struct_size = sizeof(options), .labels = labels};
  assert_printed(LIST(PH_I64, 1, 2, 3, 4, 5, 6, 7), &options,
                 "a\\nb              1\n"
                 "\\x1b[31m          2\n"
                 "bad\\xff           3\n"
                 "e\u0301                 4\n"
                 "0123456789abcde…  5\n"
                 "苹果苹果苹果苹…   6\n"
                 "👍                7\n");
}

/* Where the program's locale writes a comma, tensors still have a point. */
static void the_locale_does_not_matter(void **state) {
  (void)state;
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "ru_RU.UTF-8"};
  bool found = false;
  for (size_t i = 0; i < 5 && !found; i++) found = setlocale(LC_ALL, names[i]) != NULL;
  if (!found) {
    print_message("skipped: no locale with a decimal comma is installed\n");
    skip();
  }
  const ph_print_options exact = {.struct_size = sizeof(exact), .exact = true};
  char *text = printed(LIST(PH_F32, 0.1, 66.6666641, 1e-7), &exact), *fixed = printed(LIST(PH_F32, 0.1, 2.25), &exact);
  setlocale(LC_ALL, "C");
  assert_string_equal(text, "[1.0000000e-01 6.6666664e+01 1.0000000e-07]\n");
  assert_string_equal(fixed, "[0.1  2.25]\n");
  free(text);
  free(fixed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_alone),
      cmocka_unit_test(lists_as_numpy_writes_them),
      cmocka_unit_test(at_most_six_digits_unless_exact),
      cmocka_unit_test(empty_ones),
      cmocka_unit_test(brackets_and_lines),
      cmocka_unit_test(many_are_shortened),
      cmocka_unit_test(labels_head_rows_and_columns),
      cmocka_unit_test(zeros_and_odd_values_in_a_table),
      cmocka_unit_test(a_list_with_labels),
      cmocka_unit_test(outer_axes_are_headings),
      cmocka_unit_test(wide_tables_are_split_and_long_ones_shortened),
      cmocka_unit_test(labels_are_made_safe),
      cmocka_unit_test(the_locale_does_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
