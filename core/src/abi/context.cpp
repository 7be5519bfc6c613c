// Contexts and memory accounts across the ABI.
#include "hexapla/context.h"

#include "abi/shim.hpp"
#include "runtime/faults.hpp"

using namespace hexapla;

namespace {

hxp_context_options checked(const hxp_context_options* given) {
  hxp_context_options options;
  hxp_context_options_init(&options);
  if (!given) return options;
  require_struct(given, "options");
  options = *given;
  return options;
}

// A query: no lock, no ledger record, but only for whom the context may be called by.
template <class Body>
hxp_status query(hxp_error* error, hxp_context context, Body&& body) noexcept {
  return guard(error, [&] {
    const Share<Context> subject = share<Context>(context);
    subject->admit(thread_id());
    body(*subject);
  });
}

}  // namespace

extern "C" {

void hxp_context_options_init(hxp_context_options* options) {
  *options = {};
  options->struct_size = sizeof *options;
  options->threads = 1;
  options->pressure_retries = 8;
}

void hxp_memory_init(hxp_memory* memory) {
  *memory = {};
  memory->struct_size = sizeof *memory;
}

hxp_status hxp_context_create(const char* device, const hxp_context_options* options, hxp_context* out, hxp_error* error) {
  return guard(error, [&] {
    require(device != nullptr, "device must be given");
    require(out != nullptr, "out must be given");
    const Share<Context> context = make<Context>(device, checked(options));
    *out = publish(context);
    if (faulty(Fault::thread_local_device)) device_of_thread() = device;
    context->record(HXP_OPERATION_CONTEXT_CREATE, *out, 0, HXP_OK, thread_id());
  });
}

hxp_status hxp_context_retain(hxp_context context, hxp_context* out, hxp_error* error) {
  return retain<Context>(error, HXP_OPERATION_CONTEXT_RETAIN, context, out);
}

hxp_status hxp_context_release(hxp_context context, hxp_error* error) {
  return release<Context>(error, HXP_OPERATION_CONTEXT_RELEASE, context);
}

hxp_status hxp_context_device(hxp_context context, char* out, uint64_t out_bytes, hxp_error* error) {
  return query(error, context, [&](Context& subject) { write_text(subject.device_name(), out, out_bytes); });
}

hxp_status hxp_context_memory(hxp_context context, hxp_memory* out, hxp_error* error) {
  return guard(error, [&] {
    const Share<Context> subject = share<Context>(context);
    require_struct(out, "out");
    subject->account().fill(*out);
    out->threads = subject->threads();
  });
}

hxp_status hxp_process_memory(hxp_memory* out, hxp_error* error) {
  return guard(error, [&] {
    require_struct(out, "out");
    process_account().fill(*out);
    out->threads = worker_threads();
    out->stale_calls = stale_calls();
  });
}

hxp_status hxp_context_reset_peak(hxp_context context, hxp_error* error) {
  return query(error, context, [](Context& subject) { subject.reset_peak(); });
}

hxp_status hxp_context_mark(hxp_context context, uint64_t update, hxp_error* error) {
  return compute<Context>(error, HXP_OPERATION_CONTEXT_MARK, context,
                          [&](CallScope&, const Share<Context>& subject) { subject->mark(update); });
}

hxp_status hxp_context_synchronize(hxp_context context, hxp_error* error) {
  return compute<Context>(error, HXP_OPERATION_CONTEXT_SYNCHRONIZE, context,
                          [](CallScope&, const Share<Context>& subject) { subject->device().synchronize(); });
}

hxp_status hxp_context_fail_allocation(hxp_context context, uint64_t nth, int32_t persistent, hxp_error* error) {
  return compute<Context>(error, HXP_OPERATION_CONTEXT_FAIL, context, [&](CallScope&, const Share<Context>& subject) {
    subject->fail_allocation(nth, persistent != 0);
  });
}

hxp_status hxp_context_fail_next(hxp_context context, hxp_status status, hxp_error* error) {
  return compute<Context>(error, HXP_OPERATION_CONTEXT_FAIL, context, [&](CallScope&, const Share<Context>& subject) {
    require(status != HXP_OK && hxp_status_name(status) != nullptr, "status ", status, " is no failure's");
    subject->fail_next(status);
  });
}

}  // extern "C"
