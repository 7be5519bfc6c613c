// The worker threads of one context. A caller hands one job over (run) and blocks; the job runs on worker 0 and may split phases of its
// work into tiles that all workers take (Team::parallel). Separate from the context: it knows no device, memory or tensor. What a tile is
// must follow from shapes alone, never from the number of workers: that is what keeps results bit-identical for every count.
//
// Threads start with the first job and end with the object; their number is fixed at its making. Idle workers sleep. While a job runs,
// workers that have no tile spin for some microseconds before they sleep, so that the phases of one backward follow each other closely.
#pragma once

#include <cstddef>
#include <memory>

#include "runtime/function_ref.hpp"

namespace hexapla {

class Workers;

/// What a job sees of its workers.
class Team {
 public:
  /// Number of workers, the one that runs the job included. Scratch per worker is fine; a result must not depend on it.
  unsigned size() const noexcept;

  /// Call f(tile, worker) once for each tile in [0, tiles), on any workers at once, and return when all are done. worker < size() names
  /// the thread (for scratch); tiles start in order but end in any. A tile must not call parallel. The first exception of a tile is
  /// thrown here after the rest has ended.
  void parallel(std::size_t tiles, FunctionRef<void(std::size_t tile, unsigned worker)> f);

  struct State;  // private to workers.cpp

 private:
  friend class Workers;
  explicit Team(State& state) noexcept : state_(state) {}
  State& state_;
};

/// Worker threads that run now, of all contexts.
unsigned worker_threads() noexcept;

class Workers {
 public:
  explicit Workers(unsigned count);
  /// May run on any thread, a worker's own too: then that thread is let go instead of joined.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  unsigned count() const noexcept;

  /// Run a job on worker 0 and block until it is done; what it throws is thrown here. One job at a time: the caller holds the context's
  /// call lock. Called from inside the job it runs the inner job at once.
  void run(FunctionRef<void(Team&)> job);

  /// From inside a job, on worker 0: let the blocked caller run f on its own thread, and wait for it. Outside a job f runs at once.
  void on_caller(FunctionRef<void()> f);

 private:
  void start();
  std::shared_ptr<Team::State> state_;
};

}  // namespace hexapla
