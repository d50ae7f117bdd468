#include "runtime/port.h"

#include "base/error.h"
#include "tensor/storage.h"

/* Below this, copying is cheaper than the commands that map and unmap (docs/performance.md, Sessions). */
enum { WORTH_WRAPPING = 32768 };

static bool can_wrap(const ph_open_device *device, const ph_tensor *tensor) {
  return (device->limits.caps & PH_CAP_UNIFIED_MEMORY) != 0 && tensor->bytes >= WORTH_WRAPPING &&
         PH_HAS(device->backend, ph_backend, buffer_wrap) && PH_HAS(device->backend, ph_backend, buffer_map) &&
         (uintptr_t)tensor->data % device->limits.alignment == 0;
}

static void drop_buffer(ph_port *port, const ph_open_device *device) {
  if (port->buffer != NULL) device->backend->buffer_destroy(port->buffer);
  port->buffer = NULL;
  port->wraps = false;
}

void ph_port_rest(ph_port *port, const ph_open_device *device) {
  if (port->wraps) drop_buffer(port, device);
  ph_tensor_release(port->tensor);
  port->tensor = NULL;
  port->content = PH_CONTENT_UNKNOWN;
}

void ph_port_close(ph_port *port, const ph_open_device *device) {
  drop_buffer(port, device);
  ph_port_rest(port, device);
}

/* Gives the port a buffer for the tensor, which it retains: over its memory where that can be. */
static ph_status attach(ph_port *port, const ph_open_device *device, ph_tensor *tensor, ph_error *error) {
  ph_port_rest(port, device);
  if (tensor->bytes > 0 && can_wrap(device, tensor)) {
    ph_buffer *wrapped;
    if (device->backend->buffer_wrap(device->device, tensor->data, tensor->bytes, &wrapped, NULL) == PH_OK) {
      drop_buffer(port, device);
      port->buffer = wrapped;
      port->wraps = true;
    }
  }
  if (tensor->bytes > 0 && port->buffer == NULL)
    PH_TRY(device->backend->buffer_create(device->device, tensor->bytes, &port->buffer, error));
  port->tensor = ph_tensor_retain(tensor);
  return PH_OK;
}

ph_status ph_port_feed(ph_port *port, const ph_open_device *device, ph_queue *queue, ph_tensor *tensor,
                       uint64_t content, ph_error *error) {
  if (content != PH_CONTENT_UNKNOWN && port->content == content) return PH_OK;
  PH_TRY(attach(port, device, tensor, error));
  if (port->buffer != NULL && !port->wraps)
    PH_TRY(device->backend->write(queue, port->buffer, 0, tensor->data, tensor->bytes, error));
  port->content = content;
  return PH_OK;
}

ph_status ph_port_open(ph_port *port, const ph_open_device *device, const ph_type *type, ph_error *error) {
  /* What the last run gave may be somebody's: then it stays as it is. */
  if (port->tensor != NULL && ph_tensor_is_sole(port->tensor)) return PH_OK;
  ph_tensor shape = {.dtype = type->dtype, .rank = type->rank}, *tensor;
  for (uint32_t i = 0; i < type->rank; i++) shape.dims[i] = type->dims[i].value;
  PH_TRY(ph_tensor_measure(&shape, error));
  PH_TRY(ph_tensor_create_raw(&shape, &tensor, error));
  ph_status status = attach(port, device, tensor, error);
  ph_tensor_release(tensor);
  return status;
}

ph_status ph_port_fetch(ph_port *port, const ph_open_device *device, ph_queue *queue, ph_error *error) {
  const ph_backend *backend = device->backend;
  ph_tensor *tensor = port->tensor;
  if (port->buffer == NULL) return PH_OK;
  if (!port->wraps) return backend->read(queue, tensor->data, port->buffer, 0, tensor->bytes, error);
  void *mapped; /* the tensor's own memory */
  PH_TRY(backend->buffer_map(queue, port->buffer, 0, tensor->bytes, PH_MAP_READ, &mapped, error));
  return backend->buffer_unmap(queue, port->buffer, error);
}
