#include "runtime/workers.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cfenv>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/error.hpp"
#include "runtime/signal.hpp"

namespace hexapla {

namespace {

using std::chrono::microseconds;

// Chosen, not tuned: a hand-over through the kernel costs some 6 to 16 µs, so helpers wait a few of those for the next phase of a job;
// longer, and a serial stretch burns the other cores.
constexpr microseconds helper_spin{50};
constexpr microseconds caller_spin{5};
constexpr microseconds next_job_spin{5};

enum Turn : std::uint32_t { idle, posted, asking, finished, stopped };

}  // namespace

struct Team::State {
  explicit State(unsigned count_of) noexcept : count(count_of) {}

  const unsigned count;
  std::vector<std::thread> threads;
  std::atomic<bool> stop{false};

  // The hand-over between the caller and worker 0. Only one of the two waits at any time.
  Signal turn;
  const FunctionRef<void(Team&)>* job = nullptr;
  const FunctionRef<void()>* request = nullptr;
  std::exception_ptr job_failure;
  std::exception_ptr request_failure;

  // The phase: limit << 32 | next tile. Whoever wins a tile by compare-and-swap may read `tile`, since the phase cannot end before
  // that tile has.
  alignas(64) std::atomic<std::uint64_t> tiles{0};
  const FunctionRef<void(std::size_t, unsigned)>* tile = nullptr;
  std::mutex failure_mutex;
  std::exception_ptr tile_failure;
  alignas(64) Signal done;
  alignas(64) Signal phase;

  bool work_on_tiles(unsigned worker) noexcept;
  void keep_failure() noexcept {
    const std::lock_guard lock(failure_mutex);
    if (!tile_failure) tile_failure = std::current_exception();
  }
};

namespace {

// The team whose worker this thread is, for the thread's whole life; callers' threads have none.
thread_local Team::State* own_team = nullptr;
thread_local unsigned own_number = 0;

std::atomic<unsigned> threads_running{0};

}  // namespace

// Take tiles until there is none; true if there was one.
bool Team::State::work_on_tiles(unsigned worker) noexcept {
  bool worked = false;
  std::uint64_t seen = tiles.load(std::memory_order_acquire);
  for (;;) {
    const std::uint64_t limit = seen >> 32;
    const std::uint64_t next = seen & 0xffffffffu;
    if (next >= limit) return worked;
    if (!tiles.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
    try {
      (*tile)(next, worker);
    } catch (...) {
      keep_failure();
    }
    worked = true;
    if (done.add(1) == limit) done.notify();
    seen = tiles.load(std::memory_order_acquire);
  }
}

unsigned Team::size() const noexcept { return state_.count; }

void Team::parallel(std::size_t tiles, FunctionRef<void(std::size_t, unsigned)> f) {
  if (state_.count == 1 || tiles <= 1) {
    for (std::size_t tile = 0; tile < tiles; ++tile) f(tile, 0);
    return;
  }
  if (tiles > 0xffffffffu) fail(HXP_INTERNAL, tiles, " tiles in one phase");
  state_.tile = &f;
  state_.done.reset(0);
  state_.tiles.store(static_cast<std::uint64_t>(tiles) << 32, std::memory_order_seq_cst);
  state_.phase.set(state_.phase.value() + 1, static_cast<int>(std::min<std::size_t>(tiles - 1, state_.count - 1)));
  state_.work_on_tiles(0);
  state_.done.wait([tiles](std::uint32_t done) { return done == tiles; }, helper_spin);
  if (state_.tile_failure) std::rethrow_exception(std::exchange(state_.tile_failure, nullptr));
}

namespace {

void lead(Team::State& state, Team team) noexcept {
  for (;;) {
    state.turn.wait([](std::uint32_t turn) { return turn == posted || turn == stopped; }, next_job_spin);
    if (state.stop.load()) return;
    try {
      (*state.job)(team);
    } catch (...) {
      state.job_failure = std::current_exception();
    }
    state.turn.set(finished);
    if (state.stop.load()) return;
  }
}

void help(Team::State& state, unsigned worker) noexcept {
  while (!state.stop.load()) {
    const std::uint32_t seen = state.phase.value();
    const bool worked = state.work_on_tiles(worker);
    // Only after a tile may another follow soon: a helper that woke for nothing sleeps again at once.
    state.phase.wait([seen](std::uint32_t phase) { return phase != seen; }, worked ? helper_spin : microseconds{0});
  }
}

}  // namespace

Workers::Workers(unsigned count) : state_(std::make_shared<Team::State>(count)) {}

Workers::~Workers() {
  Team::State& state = *state_;
  const bool inside = own_team == &state;
  state.stop.store(true);
  if (!(inside && own_number == 0)) state.turn.set(stopped);  // else worker 0 itself is here and sees `stop` when its job ends
  state.phase.set(state.phase.value() + 1);
  for (std::thread& thread : state.threads) {
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();  // it holds the state, and touches nothing else any more
    } else {
      thread.join();
    }
  }
}

unsigned worker_threads() noexcept { return threads_running.load(); }

unsigned Workers::count() const noexcept { return state_->count; }

// Threads begin with the first job: a context that computes nothing costs none.
void Workers::start() {
  std::vector<std::thread>& threads = state_->threads;
  threads.reserve(state_->count);
  // Signals belong to the caller's runtime (Go, Java, Python handle them on threads that they know); faults stay deliverable.
  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&blocked, fault);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  try {
    while (threads.size() < state_->count) {
      const auto worker = static_cast<unsigned>(threads.size());
      threads.emplace_back([state = state_, worker] {
        std::fesetenv(FE_DFL_ENV);  // a caller's rounding mode or flush-to-zero must not come along
        pthread_setname_np(pthread_self(), ("hexapla-" + std::to_string(worker)).c_str());
        own_team = state.get();
        own_number = worker;
        if (worker == 0) {
          lead(*state, Team(*state));
        } else {
          help(*state, worker);
        }
        threads_running.fetch_sub(1);
      });
      threads_running.fetch_add(1);  // counted here, so that the count holds when the first call returns
    }
  } catch (const std::system_error& refused) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    fail(HXP_DEVICE, "cannot start worker thread ", threads.size() + 1, " of ", state_->count, ": ", refused.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Workers::run(FunctionRef<void(Team&)> job) {
  const std::shared_ptr<Team::State> state = state_;
  if (own_team == state.get()) {
    Team team(*state);
    job(team);
    return;
  }
  if (state->threads.size() < state->count) start();
  state->job = &job;
  state->turn.set(posted);
  while (state->turn.wait([](std::uint32_t turn) { return turn != posted; }, caller_spin) == asking) {
    try {
      (*state->request)();
    } catch (...) {
      state->request_failure = std::current_exception();
    }
    state->turn.set(posted);
  }
  if (state->job_failure) std::rethrow_exception(std::exchange(state->job_failure, nullptr));
}

void Workers::on_caller(FunctionRef<void()> f) {
  Team::State& state = *state_;
  if (own_team != &state) {
    f();
    return;
  }
  state.request = &f;
  state.turn.set(asking);
  state.turn.wait([](std::uint32_t turn) { return turn != asking; }, caller_spin);
  if (state.request_failure) std::rethrow_exception(std::exchange(state.request_failure, nullptr));
}

}  // namespace hexapla
