// Contexts, memory accounts and gates as Python classes.
#include "call.hpp"
#include "runtime/gate.hpp"
#include "runtime/workers.hpp"

namespace hexapla::native {

namespace {

using GateOwner = Owned<Gate>;

ContextOwner make_context(const std::string& device, std::uint32_t threads, std::uint64_t memory_limit, bool spill, bool owner_thread,
                          const std::optional<std::string>& ledger, const std::optional<py::function>& pressure_hook) {
  std::shared_ptr<Hook> hook = pressure_hook ? std::make_shared<Hook>(*pressure_hook) : nullptr;
  hxp_context_options options;
  hxp_context_options_init(&options);
  options.flags = (owner_thread ? HXP_THREADS_OWNER : 0) | (spill ? HXP_SPILL : 0);
  options.threads = threads;
  options.memory_limit = memory_limit;
  options.ledger_path = ledger ? ledger->c_str() : nullptr;
  options.pressure_hook = hook ? &Hook::ask : nullptr;
  options.pressure_payload = hook.get();
  std::uint64_t id = 0;
  unlocked([&](hxp_error* error) {
    return guard(error, [&] {
      const Share<Context> context = make<Context>(device, options);
      id = publish(context);
      context->record(HXP_OPERATION_CONTEXT_CREATE, id, 0, HXP_OK, thread_id());
    });
  });
  return {id, std::move(hook)};
}

std::string device_of(std::uint64_t id) {
  std::string name;
  locked([&](hxp_error* error) {
    return guard(error, [&] {
      const Share<Context> context = share<Context>(id);
      context->admit(thread_id());
      name = context->device_name();
    });
  });
  return name;
}

hxp_memory memory_of(const ContextOwner& self) {
  hxp_memory memory;
  hxp_memory_init(&memory);
  locked([&](hxp_error* error) {
    return guard(error, [&] {
      const Share<Context> context = share<Context>(self.id());
      context->account().fill(memory);
      memory.threads = context->threads();
    });
  });
  return memory;
}

hxp_memory process_memory() {
  hxp_memory memory;
  hxp_memory_init(&memory);
  process_account().fill(memory);
  memory.threads = worker_threads();
  memory.stale_calls = stale_calls();
  return memory;
}

void define_memory(py::module_& module) {
  py::class_<hxp_memory>(module, "Memory", "A memory account: of one context, or of all contexts of the process.")
      .def_readonly("threads", &hxp_memory::threads)
      .def_readonly("live_bytes", &hxp_memory::live_bytes)
      .def_readonly("peak_bytes", &hxp_memory::peak_bytes)
      .def_readonly("limit_bytes", &hxp_memory::limit_bytes)
      .def_readonly("live_handles", &hxp_memory::live_handles)
      .def_readonly("spilled_bytes", &hxp_memory::spilled_bytes)
      .def_readonly("allocations", &hxp_memory::allocations)
      .def_readonly("pressure_calls", &hxp_memory::pressure_calls)
      .def_readonly("pressure_rescues", &hxp_memory::pressure_rescues)
      .def_readonly("stale_calls", &hxp_memory::stale_calls)
      .def_readonly("foreign_calls", &hxp_memory::foreign_calls)
      .def_readonly("injected_failures", &hxp_memory::injected_failures);
  module.def("process_memory", &process_memory, "The account of the whole process, every live handle included.");
}

void define_gate(py::module_& module) {
  owned_class<Gate>(module, "Gate", "A place where callers block in native code until it is opened.")
      .def(py::init([] { return GateOwner(publish(make<Gate>()), nullptr); }))
      .def("wait",
           [](const GateOwner& self) {
             unlocked([&](hxp_error* error) { return guard(error, [&] { share<Gate>(self.id())->wait(); }); });
           },
           "Block until the gate is open; other Python threads run meanwhile.")
      .def("open", [](const GateOwner& self) {
        locked([&](hxp_error* error) { return guard(error, [&] { share<Gate>(self.id())->open(); }); });
      });
}

}  // namespace

void define_context(py::module_& module) {
  define_memory(module);
  define_gate(module);
  using namespace py::literals;
  owned_class<Context>(module, "Context", "One device, its memory account, its workers and its ledger.")
      .def(py::init(&make_context), "device"_a, py::kw_only(), "threads"_a = 1, "memory_limit"_a = 0, "spill"_a = false,
           "owner_thread"_a = false, "ledger"_a = py::none(), "pressure_hook"_a = py::none())
      .def_property_readonly("device", [](const ContextOwner& self) { return device_of(self.id()); })
      .def("memory", &memory_of, "The context's account; never waits for a running call.")
      .def("reset_peak",
           [](const ContextOwner& self) {
             locked([&](hxp_error* error) {
               return guard(error, [&] {
                 const Share<Context> context = share<Context>(self.id());
                 context->admit(thread_id());
                 context->reset_peak();
               });
             });
           })
      .def("mark",
           [](const ContextOwner& self, std::uint64_t update) {
             compute_on(self, HXP_OPERATION_CONTEXT_MARK, [&](CallScope& call, const Share<Context>&) { call.context().mark(update); });
           },
           "update"_a, "Stamp the ledger: what follows belongs to this update.")
      .def("synchronize",
           [](const ContextOwner& self) {
             compute_on(self, HXP_OPERATION_CONTEXT_SYNCHRONIZE,
                        [](CallScope& call, const Share<Context>&) { call.context().device().synchronize(); });
           })
      .def("_fail_allocation",
           [](const ContextOwner& self, std::uint64_t nth, bool persistent) {
             compute_on(self, HXP_OPERATION_CONTEXT_FAIL,
                        [&](CallScope& call, const Share<Context>&) { call.context().fail_allocation(nth, persistent); });
           },
           "nth"_a, "persistent"_a = false)
      .def("_fail_next",
           [](const ContextOwner& self, hxp_status status) {
             compute_on(self, HXP_OPERATION_CONTEXT_FAIL,
                        [&](CallScope& call, const Share<Context>&) { call.context().fail_next(status); });
           },
           "status"_a);
  module.def("_context_device", &device_of, "id"_a, "The device of a context by its raw id; for tests.");
}

}  // namespace hexapla::native
