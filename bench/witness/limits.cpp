// What this core can do at most, measured: instructions that wait for nothing, bytes from memory, and loads that wait
// for the one before. Prints a line `name value` each, values a second of processor time.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <numeric>
#include <vector>

namespace {

constexpr double LEAST_SECONDS = 0.1;
constexpr int ROUNDS = 3;
// Far more than the caches of a core and its share of the last one.
constexpr std::size_t BYTES = std::size_t{256} << 20;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The best rate of a few rounds; `work` does so many units a call.
template <class Work>
double best_rate(double units, Work work) {
  double best = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    const double begin = processor_seconds();
    double seconds = 0;
    double calls = 0;
    do {
      work();
      ++calls;
      seconds = processor_seconds() - begin;
    } while (seconds < LEAST_SECONDS);
    if (calls * units / seconds > best) best = calls * units / seconds;
  }
  return best;
}

// Eight chains of additions that do not wait for each other, and as many instructions without a result as fill a wide
// core; the barriers keep the compiler from folding them.
void add_in_registers(std::uint64_t rounds) {
  std::uint64_t a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    a += 1, b += 1, c += 1, d += 1, e += 1, f += 1, g += 1, h += 1;
    asm volatile("nop\n nop\n nop\n nop" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
  }
}

}  // namespace

int main() {
  constexpr std::uint64_t ADDITION_ROUNDS = 1 << 22;
  // Additions, others, and the counter and the jump of the loop.
  std::printf("instructions %.6g\n", best_rate(14.0 * ADDITION_ROUNDS, [] { add_in_registers(ADDITION_ROUNDS); }));

  std::vector<std::uint64_t> from(BYTES / 8, 1), to(BYTES / 8, 2);
  volatile std::uint64_t sum = 0;
  std::printf("bytes_read %.6g\n", best_rate(BYTES, [&] { sum = std::accumulate(from.begin(), from.end(), sum); }));
  // A copy reads and writes.
  std::printf("bytes_copied %.6g\n", best_rate(2.0 * BYTES, [&] { std::memcpy(to.data(), from.data(), BYTES); }));

  // A walk through memory in which each load names the next: a single cycle of full period, by a congruence.
  constexpr std::uint64_t ENTRIES = std::uint64_t{1} << 23;
  for (std::uint64_t entry = 0; entry < ENTRIES; ++entry) {
    from[entry] = (entry * 5'242'885 + 1'234'567) % ENTRIES;
  }
  std::uint64_t place = 0;
  constexpr int STEPS = 1 << 18;
  std::printf("loads_in_turn %.6g\n", best_rate(STEPS, [&] {
                for (int step = 0; step < STEPS; ++step) place = from[place];
                sum = place;
              }));
}
