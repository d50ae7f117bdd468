/* The reference with one fault in how it keeps the contract of backend.h: each macro below makes one (CMakeLists.txt).
 * `polyhead plugins check` must name each. */
#include <polyhead/backend.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/plan.h"
#include "reference/reference.h"

static const ph_backend *inner(void) {
  return ph_reference_backend();
}

#if defined(FAULT_REFUSES) || defined(FAULT_SILENT)
static ph_status supports(ph_device *device, const ph_graph *graph, uint32_t node, ph_support *out, ph_error *error) {
  (void)device;
  (void)graph;
  (void)node;
  (void)error;
  *out = (ph_support){.struct_size = out->struct_size};
#ifdef FAULT_REFUSES
  strcpy(out->reason, "nothing is supported; take another device");
#endif
  return PH_OK;
}
#elif defined(FAULT_KNOWS_ALL)
static ph_status supports(ph_device *device, const ph_graph *graph, uint32_t node, ph_support *out, ph_error *error) {
  ph_status status = inner()->supports(device, graph, node, out, error);
  out->supported = true;
  return status;
}
#endif

#ifdef FAULT_TAKES_OPTION
static ph_status device_open(ph_backend_context *context, uint32_t index, const ph_option *options,
                             uint32_t option_count, ph_device **out, ph_error *error) {
  (void)options;
  (void)option_count;
  return inner()->device_open(context, index, NULL, 0, out, error);
}
#endif

#ifdef FAULT_NULL
static void buffer_destroy(ph_buffer *buffer) {
  if (buffer == NULL) abort(); /* sanitizers leave this one alone */
  inner()->buffer_destroy(buffer);
}
#endif

#ifdef FAULT_EXITS
static ph_status queue_create(ph_device *device, uint32_t flags, ph_queue **out, ph_error *error) {
  (void)device;
  (void)flags;
  (void)out;
  (void)error;
  _Exit(7);
}
#endif

#if defined(FAULT_PRINTS) || defined(FAULT_ONE_CONTEXT)
static ph_status open_backend(const ph_host *host, const ph_option *options, uint32_t option_count,
                              ph_backend_context **out, ph_error *error) {
#ifdef FAULT_PRINTS
  printf("Welcome to the faulty backend!\n");
  return inner()->open(host, options, option_count, out, error);
#else
  static ph_backend_context *only;
  ph_status status = only == NULL ? inner()->open(host, options, option_count, &only, error) : PH_OK;
  *out = only;
  return status;
#endif
}
#endif

#ifdef FAULT_ONE_CONTEXT
static void close_backend(ph_backend_context *context) {
  (void)context;
}
#endif

#ifdef FAULT_LONG_INFO
static ph_status device_info(ph_backend_context *context, uint32_t index, ph_device_info *out, ph_error *error) {
  memset((char *)out + sizeof(out->struct_size), 0, out->struct_size - sizeof(out->struct_size));
  return inner()->device_info(context, index, out, error);
}
#endif

#if defined(FAULT_OFF_BY_ONE) || defined(FAULT_WRONG)
static ph_status execute(ph_queue *queue, ph_plan *plan, const ph_binding *bindings, uint32_t binding_count,
                         const ph_binding *workspace, ph_node_time *times, ph_error *error) {
  ph_status status = inner()->execute(queue, plan, bindings, binding_count, workspace, times, error);
  const ph_binding *last = &bindings[binding_count - 1]; /* of the check's graph: the output, f32 [2, 3] */
  if (status != PH_OK || last->buffer == NULL) return status;
  float *y = (float *)(void *)((char *)last->buffer->memory + last->offset);
#ifdef FAULT_OFF_BY_ONE
  if (last->offset + 7 * sizeof(float) <= last->buffer->bytes) y[6] = 0;
#else
  y[0] += 1;
#endif
  return status;
}
#endif

#ifdef FAULT_HUGE
static ph_status buffer_create(ph_device *device, uint64_t bytes, ph_buffer **out, ph_error *error) {
  return inner()->buffer_create(device, bytes > UINT32_MAX ? 64 : bytes, out, error); /* as a cast to 32 bits may */
}
#endif

#ifdef FAULT_OFFSET
static ph_status write_buffer(ph_queue *queue, ph_buffer *to, uint64_t offset, const void *from, uint64_t bytes,
                              ph_error *error) {
  return inner()->write(queue, to, offset / 64 * 64, from, bytes, error);
}
#endif

#ifdef FAULT_WRAP_COPIES
/* Takes a copy of the memory and never gives anything back. */
static ph_status buffer_wrap(ph_device *device, void *memory, uint64_t bytes, ph_buffer **out, ph_error *error) {
  ph_status status = inner()->buffer_create(device, bytes, out, error);
  ph_queue *queue = NULL;
  if (status == PH_OK) status = inner()->queue_create(device, 0, &queue, error);
  if (status == PH_OK) status = inner()->write(queue, *out, 0, memory, bytes, error);
  inner()->queue_destroy(queue);
  return status;
}
#endif

#ifdef FAULT_OLD
/* Without buffer_map() the memory cannot be had for nothing. */
static ph_status device_info(ph_backend_context *context, uint32_t index, ph_device_info *out, ph_error *error) {
  ph_status status = inner()->device_info(context, index, out, error);
  out->caps &= ~(uint32_t)PH_CAP_UNIFIED_MEMORY;
  return status;
}

static ph_status device_limits(ph_device *device, ph_device_info *out, ph_error *error) {
  ph_status status = inner()->device_limits(device, out, error);
  out->caps &= ~(uint32_t)PH_CAP_UNIFIED_MEMORY;
  return status;
}
#endif

static ph_backend table;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_table(void) {
  table = *inner();
  table.struct_size = sizeof(table);
  table.name = FAULTY_FILE;
#if defined(FAULT_REFUSES) || defined(FAULT_SILENT) || defined(FAULT_KNOWS_ALL)
  table.supports = supports;
#elif defined(FAULT_TAKES_OPTION)
  table.device_open = device_open;
#elif defined(FAULT_NULL)
  table.buffer_destroy = buffer_destroy;
#elif defined(FAULT_EXITS)
  table.queue_create = queue_create;
#elif defined(FAULT_PRINTS)
  table.open = open_backend;
#elif defined(FAULT_ONE_CONTEXT)
  table.open = open_backend;
  table.close = close_backend;
#elif defined(FAULT_LONG_INFO)
  table.device_info = device_info;
#elif defined(FAULT_OFF_BY_ONE) || defined(FAULT_WRONG)
  table.execute = execute;
#elif defined(FAULT_HUGE)
  table.buffer_create = buffer_create;
#elif defined(FAULT_OFFSET)
  table.write = write_buffer;
#elif defined(FAULT_NO_MAP)
  table.buffer_map = NULL;
  table.buffer_unmap = NULL;
#elif defined(FAULT_HALF_MAP)
  table.buffer_unmap = NULL;
#elif defined(FAULT_WRAP_COPIES)
  table.buffer_wrap = buffer_wrap;
#elif defined(FAULT_OLD)
  /* As it was built before there were optional functions: behind its end lies whatever the linker put there. */
  table.device_info = device_info;
  table.device_limits = device_limits;
  table.struct_size = offsetof(ph_backend, buffer_map);
  memset((char *)&table + table.struct_size, 0x5A, sizeof(table) - table.struct_size);
#endif
}

#ifdef FAULT_EXPORTS
PH_BACKEND_EXPORT int faulty_helper(void);
int faulty_helper(void) {
  return 1;
}
#endif

PH_BACKEND_EXPORT const ph_backend *ph_backend_query(uint32_t host_abi_version) {
#ifndef FAULT_ANY_MAJOR
  if (host_abi_version >> 16 != PH_ABI_MAJOR) return NULL;
#endif
  (void)host_abi_version;
  return pthread_once(&once, fill_table) == 0 ? &table : NULL;
}
