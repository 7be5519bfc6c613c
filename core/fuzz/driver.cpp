// A small fuzzer for compilers without libFuzzer: mutates inputs, keeps those that reach new code, ends when its time is up. Linked with one
// entry point instead of -fsanitize=fuzzer; run.py decides which. It knows nothing of what it feeds.
//   TARGET SECONDS CURRENT SEED [CORPUS FILE...]
// The code under test is compiled with -fsanitize-coverage=trace-pc, this file is not. The input in progress lies in the file CURRENT,
// mapped, so that it survives the abort of a sanitizer. One seed gives one sequence of inputs; how far it gets depends on the machine.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t size_max = 4096;
constexpr std::size_t places = 1 << 16;

std::bitset<places> reached;
bool new_place = false;

using Input = std::vector<std::uint8_t>;

// Pieces that a random byte seldom makes.
const std::array<std::string, 22> words = {
    "{\"", "\":", "[]", "\\u", "\\ud800", "null", "true", "-0", "1e308", "18446744073709551615", "9223372036854775808",
    "\"dtype\":\"F32\"", "\"shape\":[2]", "\"data_offsets\":[0,8]", "__metadata__", "\"vocab\":{", "\"merges\":[", "\"added_tokens\":[",
    "\xCC\x81", "\xE1\x84\x80\xE1\x85\xA1", "\xEF\xBB\xBF", std::string("\0\0\0\0\0\0\0\0", 8)};

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(random_() % end); }

  Input mutate(const std::vector<Input>& corpus) {
    Input input = corpus[below(corpus.size())];
    for (std::size_t turns = 1 + below(4); turns-- > 0;) change(input, corpus);
    input.resize(std::min(input.size(), size_max));
    return input;
  }

 private:
  void change(Input& input, const std::vector<Input>& corpus) {
    const std::size_t at = below(input.size() + 1);
    const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t length = std::min(below(16) + 1, input.size() - at);
    switch (below(7)) {
      case 0:
        if (at < input.size()) input[at] ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      case 1:
        if (at < input.size()) input[at] = static_cast<std::uint8_t>(below(256));
        break;
      case 2: input.insert(place, static_cast<std::uint8_t>(below(256))); break;
      case 3: input.erase(place, place + static_cast<std::ptrdiff_t>(length)); break;
      case 4: {
        const Input copy(place, place + static_cast<std::ptrdiff_t>(length));
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(below(input.size() + 1)), copy.begin(), copy.end());
        break;
      }
      case 5: {
        const std::string& word = words[below(words.size())];
        input.insert(place, word.begin(), word.end());
        break;
      }
      default: {
        const Input& other = corpus[below(corpus.size())];
        const std::size_t from = below(other.size() + 1);
        input.resize(at);
        input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
      }
    }
  }

  std::mt19937_64 random_;
};

std::uint8_t* map_current(const char* path) {
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
  if (file < 0 || ftruncate(file, sizeof(std::uint64_t) + size_max) != 0) return nullptr;
  void* const map = mmap(nullptr, sizeof(std::uint64_t) + size_max, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return map == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(map);
}

// The file CURRENT: the input's size (u64), then the input.
void feed(std::uint8_t* current, const Input& input) {
  const std::uint64_t size = input.size();
  std::memcpy(current, &size, sizeof size);
  std::copy(input.begin(), input.end(), current + sizeof size);
  new_place = false;
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

// Called at every edge of the code under test.
extern "C" void __sanitizer_cov_trace_pc() {
  const auto address = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  const std::size_t place = (address ^ (address >> 16)) % places;
  if (reached[place]) return;
  reached[place] = true;
  new_place = true;
}

int main(int count, char** arguments) {
  if (count < 4) {
    std::fprintf(stderr, "usage: %s SECONDS CURRENT SEED [FILE...]\n", arguments[0]);
    return 2;
  }
  std::uint8_t* const current = map_current(arguments[2]);
  if (current == nullptr) {
    std::fprintf(stderr, "%s: %s cannot be mapped\n", arguments[0], arguments[2]);
    return 2;
  }
  std::vector<Input> corpus = {{}};
  for (int i = 4; i < count; ++i) {
    std::ifstream file(arguments[i], std::ios::binary);
    Input input{std::istreambuf_iterator<char>(file), {}};
    input.resize(std::min(input.size(), size_max));
    corpus.push_back(std::move(input));
  }
  for (const Input& input : corpus) feed(current, input);
  const std::size_t seeds = corpus.size();
  Mutator mutator(std::strtoull(arguments[3], nullptr, 10));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::strtod(arguments[1], nullptr));
  std::uint64_t runs = 0;
  while (std::chrono::steady_clock::now() < end) {
    Input input = mutator.mutate(corpus);
    feed(current, input);
    if (new_place) corpus.push_back(std::move(input));
    ++runs;
  }
  std::printf("%llu inputs, %zu places, %zu inputs kept\n", static_cast<unsigned long long>(runs), reached.count(),
              corpus.size() - seeds);
  return 0;
}
