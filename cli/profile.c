#include "profile.h"

#include "json.h"
#include "output.h"

#include "base/error.h"

/* ---- rates ---- */

static double seconds_of(const ph_node_report *node) {
  return (double)(node->end_ns - node->start_ns) * 1e-9;
}

static double total_of(const ph_session *session) {
  double sum = 0;
  for (uint32_t i = 0; i < ph_session_node_count(session); i++) sum += seconds_of(ph_session_node(session, i));
  return sum;
}

static double rate(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : 0;
}

/* ---- the table ---- */

static void add_row(cli_table *table, const ph_node_report *node, double seconds, double total, const ph_peak *peak) {
  double flops = rate(node->flops, seconds), bytes = rate((double)node->bytes, seconds);
  char time[32], share[32], gflops[32], gbytes[32];
  snprintf(time, sizeof(time), "%.3f", seconds * 1e3);
  snprintf(share, sizeof(share), "%.1f %%", 100 * seconds / total);
  snprintf(gflops, sizeof(gflops), "%.1f", flops * 1e-9);
  snprintf(gbytes, sizeof(gbytes), "%.1f", bytes * 1e-9);
  cli_table_add(table,
                (const char *const[]){node->path, node->op, node->variant, time, share, gflops,
                                      cli_share_text(flops, peak->flops).text, gbytes,
                                      cli_share_text(bytes, peak->read_bytes).text, cli_bytes_text(node->bytes).text});
}

ph_status cli_profile_print(ph_session *session, ph_error *error) {
  cli_table table = {.columns = "lllrrrrrrr"};
  double total = total_of(session);
  ph_node_report sum = {.path = "sum", .op = "", .variant = ""};
  if (total == 0) {
    cli_print_warning("this device measures no times of single nodes, so there is no profile");
    return PH_OK;
  }
  ph_peak peak = ph_session_peak(session, false);
  cli_table_add(&table, (const char *const[]){"node", "op", "variant", "ms", "share", "GFLOP/s", "peak", "GB/s", "read",
                                              "bytes"});
  for (uint32_t i = 0; i < ph_session_node_count(session); i++) {
    const ph_node_report *node = ph_session_node(session, i);
    add_row(&table, node, seconds_of(node), total, &peak);
    sum.flops += node->flops;
    sum.bytes += node->bytes;
  }
  add_row(&table, &sum, total, total, &peak);
  printf("\n");
  return cli_table_print(&table, stdout, error);
}

/* ---- JSON ---- */

static json_t *node_json(const ph_node_report *node, double total) {
  bool measured = node->end_ns != 0 && total > 0;
  double seconds = seconds_of(node);
  return json_pack("{so so so so so so so sf sI}", "path", cli_json_text(node->path), "op", cli_json_text(node->op),
                   "variant", cli_json_text(node->variant), "ms", measured ? json_real(seconds * 1e3) : json_null(),
                   "share", measured ? json_real(seconds / total) : json_null(), "gflops",
                   measured ? json_real(rate(node->flops, seconds) * 1e-9) : json_null(), "gbytes",
                   measured ? json_real(rate((double)node->bytes, seconds) * 1e-9) : json_null(), "flops", node->flops,
                   "bytes", (json_int_t)node->bytes);
}

ph_status cli_profile_fill(ph_session *session, json_t *to, ph_error *error) {
  json_t *array = json_array();
  double total = total_of(session);
  for (uint32_t i = 0; i < ph_session_node_count(session); i++)
    array = cli_json_append(array, node_json(ph_session_node(session, i), total));
  PH_TRY(cli_json_set(to, "profile", array, error));
  return cli_json_set(to, "peak", cli_json_peak(ph_session_peak(session, false)), error);
}
