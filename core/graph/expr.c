/* Parsing and evaluating EXPR; see expr.h.  A recursive-descent parser over ASCII text:
 *   sum = product {("+" | "-") product}      product = factor {("*" | "/") factor}
 *   factor = ("-" | "+") factor | number | name | "sqrt" "(" sum ")" | "(" sum ")" */
#include "graph/expr.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "graph/number.h"

/* Bounds the recursion of the parser, and that of whoever walks the tree. */
enum { MAX_DEPTH = 100 };

typedef enum expr_kind { INTEGER, DECIMAL, NAME, NEGATE, SQRT, ADD, SUBTRACT, MULTIPLY, DIVIDE } expr_kind;

struct ph_expr {
  expr_kind kind;
  int64_t integer;
  double real;
  const char *name;
  const ph_expr *left, *right;
  int height;
  const char *whole; /* the text of the outermost expression */
  size_t start, end; /* this one's part of it */
};

typedef struct parser {
  ph_arena *arena;
  const char *text;
  size_t at;
  const int64_t *round;
  int depth;
  ph_error *error;
} parser;

static void skip_blanks(parser *p) {
  while (p->text[p->at] == ' ' || p->text[p->at] == '\t' || p->text[p->at] == '\n') p->at++;
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_name_part(char c) {
  return is_letter(c) || (c >= '0' && c <= '9');
}

static ph_status fail_expected(parser *p, const char *expected) {
  skip_blanks(p);
  if (p->text[p->at] == '\0') return ph_fail(p->error, PH_INVALID, "'%s' ends where %s is expected", p->text, expected);
  return ph_fail(p->error, PH_INVALID, "'%s' has '%s' where %s is expected", p->text, p->text + p->at, expected);
}

/* An expression whose text ends here.  A long sum is a deep tree too. */
static ph_status make(parser *p, expr_kind kind, size_t start, const ph_expr *left, const ph_expr *right,
                      ph_expr **out) {
  int height = left != NULL ? left->height + 1 : 0;
  if (right != NULL && right->height >= height) height = right->height + 1;
  if (height > MAX_DEPTH)
    return ph_fail(p->error, PH_INVALID, "the expression has more than %d operations in a row", MAX_DEPTH);
  *out = ph_arena_alloc(p->arena, sizeof(**out));
  if (*out == NULL) return ph_fail_memory(p->error);
  **out = (ph_expr){
      .kind = kind, .left = left, .right = right, .height = height, .whole = p->text, .start = start, .end = p->at};
  return PH_OK;
}

static ph_status parse_sum(parser *p, ph_expr **out);

static ph_status parse_number(parser *p, ph_expr **out) {
  ph_number number;
  size_t start = p->at;
  size_t length = ph_number_scan(p->text + start, false, &number);
  if (length == 0) return fail_expected(p, "a number, a dim or '('");
  p->at += length;
  if (number.problem != NULL)
    return ph_fail(p->error, PH_INVALID, "'%.*s' %s", (int)length, p->text + start, number.problem);
  PH_TRY(make(p, number.is_integer ? INTEGER : DECIMAL, start, NULL, NULL, out));
  (*out)->integer = number.integer;
  (*out)->real = number.real;
  return PH_OK;
}

static ph_status parse_name(parser *p, ph_expr **out) {
  size_t start = p->at;
  while (is_name_part(p->text[p->at])) p->at++;
  size_t length = p->at - start;
  skip_blanks(p);
  if (p->text[p->at] == '(') {
    if (length != 4 || strncmp(p->text + start, "sqrt", 4) != 0)
      return ph_fail(p->error, PH_INVALID, "'%s' calls '%.*s', but sqrt() is the only function", p->text, (int)length,
                     p->text + start);
    p->at++;
    ph_expr *inner;
    PH_TRY(parse_sum(p, &inner));
    if (p->text[p->at] != ')') return fail_expected(p, "')'");
    p->at++;
    return make(p, SQRT, start, inner, NULL, out);
  }
  PH_TRY(make(p, NAME, start, NULL, NULL, out));
  (*out)->end = start + length;
  if (length == 1 && p->text[start] == 'i') { /* the round of a repeat */
    if (p->round == NULL) return ph_fail(p->error, PH_INVALID, "'i' is the round of a repeat, and there is none here");
    (*out)->kind = INTEGER;
    (*out)->integer = *p->round;
    (*out)->real = (double)*p->round;
    return PH_OK;
  }
  (*out)->name = ph_arena_copy(p->arena, p->text + start, length);
  return (*out)->name != NULL ? PH_OK : ph_fail_memory(p->error);
}

static ph_status parse_factor(parser *p, ph_expr **out) {
  skip_blanks(p);
  size_t start = p->at;
  char c = p->text[start];
  if (++p->depth > MAX_DEPTH)
    return ph_fail(p->error, PH_INVALID, "the expression is nested deeper than %d", MAX_DEPTH);
  if (c == '-' || c == '+') {
    p->at++;
    PH_TRY(parse_factor(p, out));
    if (c == '-') PH_TRY(make(p, NEGATE, start, *out, NULL, out));
  } else if (c == '(') {
    p->at++;
    PH_TRY(parse_sum(p, out));
    if (p->text[p->at] != ')') return fail_expected(p, "')'");
    p->at++;
    (*out)->start = start;
    (*out)->end = p->at;
  } else if (is_letter(c)) {
    PH_TRY(parse_name(p, out));
  } else {
    PH_TRY(parse_number(p, out));
  }
  p->depth--;
  return PH_OK;
}

static ph_status parse_binary(parser *p, ph_status (*operand)(parser *, ph_expr **), char a, expr_kind kind_a, char b,
                              expr_kind kind_b, ph_expr **out) {
  PH_TRY(operand(p, out));
  for (;;) {
    size_t end = p->at;
    skip_blanks(p);
    char c = p->text[p->at];
    if (c != a && c != b) {
      if (c != '\0' && c != ')' && strchr("+-*/", c) == NULL) return fail_expected(p, "an operator");
      (*out)->end = (*out)->end > end ? (*out)->end : end;
      return PH_OK;
    }
    p->at++;
    ph_expr *left = *out, *right;
    PH_TRY(operand(p, &right));
    PH_TRY(make(p, c == a ? kind_a : kind_b, left->start, left, right, out));
  }
}

static ph_status parse_product(parser *p, ph_expr **out) {
  return parse_binary(p, parse_factor, '*', MULTIPLY, '/', DIVIDE, out);
}

static ph_status parse_sum(parser *p, ph_expr **out) {
  return parse_binary(p, parse_product, '+', ADD, '-', SUBTRACT, out);
}

ph_status ph_expr_parse(ph_arena *arena, const char *text, const int64_t *round, const ph_expr **out, ph_error *error) {
  parser p = {.arena = arena, .text = ph_arena_copy(arena, text, strlen(text)), .round = round, .error = error};
  if (p.text == NULL) return ph_fail_memory(error);
  ph_expr *expr;
  PH_TRY(parse_sum(&p, &expr));
  if (p.text[p.at] != '\0') return fail_expected(&p, "an operator");
  *out = expr;
  return PH_OK;
}

ph_status ph_expr_number(ph_arena *arena, int64_t value, const ph_expr **out, ph_error *error) {
  char *text = ph_arena_text(arena, "%" PRId64, value);
  if (text == NULL) return ph_fail_memory(error);
  parser p = {.arena = arena, .text = text, .at = strlen(text), .error = error};
  ph_expr *expr;
  PH_TRY(make(&p, INTEGER, 0, NULL, NULL, &expr));
  expr->integer = value;
  expr->real = (double)value;
  *out = expr;
  return PH_OK;
}

/* The part of the text that an expression was read from, for messages. */
#define PART(expr) (int)((expr)->end - (expr)->start), (expr)->whole + (expr)->start

static ph_status evaluate(const ph_expr *expr, const ph_scope *scope, ph_dim *out, ph_error *error) {
  ph_dim a = {0}, b = {0};
  *out = a;
  if (expr->left != NULL) PH_TRY(evaluate(expr->left, scope, &a, error));
  if (expr->right != NULL) PH_TRY(evaluate(expr->right, scope, &b, error));
  bool fits = true;
  switch (expr->kind) {
  case INTEGER:
    out->value = expr->integer;
    return PH_OK;
  case NAME:
    PH_TRY(scope->value(scope->user, expr->name, out, error));
    return PH_OK;
  case DECIMAL: {
    bool digits = strspn(expr->whole + expr->start, "0123456789") >= expr->end - expr->start;
    if (digits) return ph_fail(error, PH_INVALID, "'%.*s' does not fit in 64 bits", PART(expr));
    return ph_fail(error, PH_INVALID, "'%.*s' is no integer, which is needed here", PART(expr));
  }
  case SQRT:
    return ph_fail(error, PH_INVALID, "'%.*s' is no integer, which is needed here", PART(expr));
  case NEGATE:
    fits = !__builtin_sub_overflow((int64_t)0, a.value, &out->value);
    break;
  case ADD:
    fits = ph_add_i64(a.value, b.value, &out->value);
    break;
  case SUBTRACT:
    fits = !__builtin_sub_overflow(a.value, b.value, &out->value);
    break;
  case MULTIPLY:
    fits = ph_mul_i64(a.value, b.value, &out->value);
    break;
  case DIVIDE:
    if (b.value == 0) return ph_fail(error, PH_INVALID, "'%.*s' divides %" PRId64 " by 0", PART(expr), a.value);
    if (b.value == -1)
      fits = !__builtin_sub_overflow((int64_t)0, a.value, &out->value);
    else if (a.value % b.value != 0)
      return ph_fail(error, PH_INVALID, "'%.*s' is %" PRId64 " / %" PRId64 ", which does not come out even", PART(expr),
                     a.value, b.value);
    else
      out->value = a.value / b.value;
  }
  out->varies = a.varies || b.varies;
  if (!fits) return ph_fail(error, PH_INVALID, "'%.*s' does not fit in 64 bits", PART(expr));
  return PH_OK;
}

ph_status ph_expr_integer(const ph_expr *expr, const ph_scope *scope, ph_dim *out, ph_error *error) {
  PH_TRY(evaluate(expr, scope, out, error));
  out->name = ph_expr_plain_name(expr);
  return PH_OK;
}

ph_status ph_expr_real(const ph_expr *expr, const ph_scope *scope, double *out, bool *out_varies, ph_error *error) {
  double a = 0, b = 0;
  bool a_varies = false, b_varies = false;
  if (expr->left != NULL) PH_TRY(ph_expr_real(expr->left, scope, &a, &a_varies, error));
  if (expr->right != NULL) PH_TRY(ph_expr_real(expr->right, scope, &b, &b_varies, error));
  *out_varies = a_varies || b_varies;
  switch (expr->kind) {
  case INTEGER:
  case DECIMAL:
    *out = expr->real;
    return PH_OK;
  case NAME: {
    ph_dim dim;
    PH_TRY(scope->value(scope->user, expr->name, &dim, error));
    *out = (double)dim.value;
    *out_varies = dim.varies;
    return PH_OK;
  }
  case NEGATE:
    *out = -a;
    return PH_OK;
  case SQRT:
    *out = sqrt(a);
    break;
  case ADD:
    *out = a + b;
    break;
  case SUBTRACT:
    *out = a - b;
    break;
  case MULTIPLY:
    *out = a * b;
    break;
  case DIVIDE:
    *out = a / b;
    break;
  }
  if (!isfinite(*out)) return ph_fail(error, PH_INVALID, "'%.*s' is no finite number", PART(expr));
  return PH_OK;
}

void ph_expr_names(const ph_expr *expr, void (*visit)(void *user, const char *name), void *user) {
  if (expr->kind == NAME) visit(user, expr->name);
  if (expr->left != NULL) ph_expr_names(expr->left, visit, user);
  if (expr->right != NULL) ph_expr_names(expr->right, visit, user);
}

const char *ph_expr_plain_name(const ph_expr *expr) {
  return expr->kind == NAME ? expr->name : NULL;
}

const char *ph_expr_text(const ph_expr *expr) {
  return expr->whole;
}
