#pragma once
#include <rocprim/rocprim.hpp>

namespace hipcub {
// Functors.
struct Equality { template <class T, class U> __host__ __device__ constexpr bool operator()(T&& a, U&& b) const { return a == b; } };
struct Inequality { template <class T, class U> __host__ __device__ constexpr bool operator()(T&& a, U&& b) const { return a != b; } };
struct Sum { template <class T, class U> __host__ __device__ constexpr auto operator()(T&& a, U&& b) const { return a + b; } };
struct Difference { template <class T, class U> __host__ __device__ constexpr auto operator()(T&& a, U&& b) const { return a - b; } };
struct Max { template <class T, class U> __host__ __device__ constexpr std::common_type_t<T, U> operator()(T&& a, U&& b) const { return a < b ? b : a; } };
struct Min { template <class T, class U> __host__ __device__ constexpr std::common_type_t<T, U> operator()(T&& a, U&& b) const { return b < a ? b : a; } };
template <class K, class V> struct KeyValuePair { using Key = K; using Value = V; K key; V value; __host__ __device__ constexpr KeyValuePair() : key(), value() {} __host__ __device__ constexpr KeyValuePair(const K& k, const V& v) : key(k), value(v) {} __host__ __device__ constexpr bool operator!=(const KeyValuePair& b) const { return key != b.key || value != b.value; } };
struct ArgMax { template <class K, class V> __host__ __device__ constexpr KeyValuePair<K, V> operator()(const KeyValuePair<K, V>& a, const KeyValuePair<K, V>& b) const { return b.value > a.value || (a.value == b.value && b.key < a.key) ? b : a; } };
struct ArgMin { template <class K, class V> __host__ __device__ constexpr KeyValuePair<K, V> operator()(const KeyValuePair<K, V>& a, const KeyValuePair<K, V>& b) const { return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a; } };

// Types as bits.
template <size_t Size> struct __torchless_bits { using type = unsigned char; };
template <> struct __torchless_bits<2> { using type = unsigned short; };
template <> struct __torchless_bits<4> { using type = unsigned int; };
template <> struct __torchless_bits<8> { using type = unsigned long long; };
enum Category { NOT_A_NUMBER, SIGNED_INTEGER, UNSIGNED_INTEGER, FLOATING_POINT };
template <class T> struct NumericTraits {
  using UnsignedBits = typename __torchless_bits<sizeof(T)>::type;
  static constexpr Category CATEGORY = std::is_integral_v<T> ? (std::is_signed_v<T> ? SIGNED_INTEGER : UNSIGNED_INTEGER) : FLOATING_POINT;
  enum : bool { PRIMITIVE = true, NULL_TYPE = false };
  static constexpr UnsignedBits HIGH_BIT = UnsignedBits(1) << (sizeof(UnsignedBits) * 8 - 1);
  static constexpr UnsignedBits LOWEST_KEY = UnsignedBits(-1);
  static constexpr UnsignedBits MAX_KEY = UnsignedBits(-1) ^ HIGH_BIT;
  static __host__ __device__ inline UnsignedBits TwiddleIn(UnsignedBits key) { return CATEGORY == FLOATING_POINT ? key ^ ((key & HIGH_BIT) ? UnsignedBits(-1) : HIGH_BIT) : CATEGORY == SIGNED_INTEGER ? key ^ HIGH_BIT : key; }
  static __host__ __device__ inline UnsignedBits TwiddleOut(UnsignedBits key) { return CATEGORY == FLOATING_POINT ? key ^ ((key & HIGH_BIT) ? HIGH_BIT : UnsignedBits(-1)) : CATEGORY == SIGNED_INTEGER ? key ^ HIGH_BIT : key; }
  static __host__ __device__ inline T Max() { return std::numeric_limits<T>::max(); }
  static __host__ __device__ inline T Lowest() { return std::numeric_limits<T>::lowest(); }
};
template <class T> using Traits = NumericTraits<std::remove_cv_t<T>>;
template <class T> __host__ __device__ constexpr T DivideAndRoundUp(T n, T d) { return (n + d - 1) / d; }

// Shared memory cannot be initialised: raw bytes that read as T.
template <class T, int N> struct __torchless_raw { alignas(T) unsigned char bytes[sizeof(T) * N]; __device__ inline T& operator[](int i) { return reinterpret_cast<T*>(bytes)[i]; } };

// Block-wide operations: each has a TempStorage and a constructor that takes it. Their bodies are only as long
// as type checking needs.
enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
template <class T, int BlockX, BlockReduceAlgorithm Algorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int BlockY = 1, int BlockZ = 1, int Arch = 1> class BlockReduce {
 public:
  struct TempStorage { __torchless_raw<T, BlockX * BlockY * BlockZ> word; };
  __device__ inline BlockReduce() : s(nullptr) {}
  __device__ inline BlockReduce(TempStorage& storage) : s(&storage) {}
  template <class Op> __device__ inline T Reduce(T input, Op op) { s->word[threadIdx.x] = input; __syncthreads(); return op(s->word[0], input); }
  template <class Op> __device__ inline T Reduce(T input, Op op, int num_valid) { return Reduce(input, op); }
  template <int N, class Op> __device__ inline T Reduce(T (&inputs)[N], Op op) { T r = inputs[0]; for (int i = 1; i < N; ++i) r = op(r, inputs[i]); return Reduce(r, op); }
  __device__ inline T Sum(T input) { return Reduce(input, hipcub::Sum()); }
  __device__ inline T Sum(T input, int num_valid) { return Reduce(input, hipcub::Sum()); }
  template <int N> __device__ inline T Sum(T (&inputs)[N]) { return Reduce(inputs, hipcub::Sum()); }
 private:
  TempStorage* s;
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
template <class T, int BlockX, BlockScanAlgorithm Algorithm = BLOCK_SCAN_RAKING, int BlockY = 1, int BlockZ = 1, int Arch = 1> class BlockScan {
 public:
  struct TempStorage { __torchless_raw<T, BlockX * BlockY * BlockZ> word; };
  __device__ inline BlockScan() : s(nullptr) {}
  __device__ inline BlockScan(TempStorage& storage) : s(&storage) {}
  template <class Op> __device__ inline void InclusiveScan(T input, T& output, Op op) { s->word[threadIdx.x] = input; __syncthreads(); output = op(s->word[0], input); }
  template <class Op> __device__ inline void InclusiveScan(T input, T& output, Op op, T& aggregate) { InclusiveScan(input, output, op); aggregate = output; }
  template <class Op> __device__ inline void ExclusiveScan(T input, T& output, T initial, Op op) { InclusiveScan(input, output, op); output = op(initial, output); }
  template <class Op> __device__ inline void ExclusiveScan(T input, T& output, T initial, Op op, T& aggregate) { ExclusiveScan(input, output, initial, op); aggregate = output; }
  __device__ inline void InclusiveSum(T input, T& output) { InclusiveScan(input, output, hipcub::Sum()); }
  __device__ inline void InclusiveSum(T input, T& output, T& aggregate) { InclusiveScan(input, output, hipcub::Sum(), aggregate); }
  template <int N> __device__ inline void InclusiveSum(T (&input)[N], T (&output)[N]) { for (int i = 0; i < N; ++i) InclusiveSum(input[i], output[i]); }
  __device__ inline void ExclusiveSum(T input, T& output) { ExclusiveScan(input, output, T(), hipcub::Sum()); }
  __device__ inline void ExclusiveSum(T input, T& output, T& aggregate) { ExclusiveScan(input, output, T(), hipcub::Sum(), aggregate); }
  template <int N> __device__ inline void ExclusiveSum(T (&input)[N], T (&output)[N]) { for (int i = 0; i < N; ++i) ExclusiveSum(input[i], output[i]); }
 private:
  TempStorage* s;
};
enum BlockLoadAlgorithm { BLOCK_LOAD_DIRECT, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED };
template <class T, int BlockX, int Items, BlockLoadAlgorithm Algorithm = BLOCK_LOAD_DIRECT, int BlockY = 1, int BlockZ = 1, int Arch = 1> class BlockLoad {
 public:
  struct TempStorage { __torchless_raw<T, BlockX * Items> word; };
  __device__ inline BlockLoad() : s(nullptr) {}
  __device__ inline BlockLoad(TempStorage& storage) : s(&storage) {}
  template <class It> __device__ inline void Load(It from, T (&items)[Items]) { for (int i = 0; i < Items; ++i) items[i] = from[threadIdx.x * Items + i]; }
  template <class It> __device__ inline void Load(It from, T (&items)[Items], int valid) { for (int i = 0; i < Items; ++i) if (int(threadIdx.x) * Items + i < valid) items[i] = from[threadIdx.x * Items + i]; }
  template <class It, class D> __device__ inline void Load(It from, T (&items)[Items], int valid, D otherwise) { for (int i = 0; i < Items; ++i) items[i] = otherwise; Load(from, items, valid); }
 private:
  TempStorage* s;
};
enum BlockStoreAlgorithm { BLOCK_STORE_DIRECT, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED };
template <class T, int BlockX, int Items, BlockStoreAlgorithm Algorithm = BLOCK_STORE_DIRECT, int BlockY = 1, int BlockZ = 1, int Arch = 1> class BlockStore {
 public:
  struct TempStorage { __torchless_raw<T, BlockX * Items> word; };
  __device__ inline BlockStore() : s(nullptr) {}
  __device__ inline BlockStore(TempStorage& storage) : s(&storage) {}
  template <class It> __device__ inline void Store(It to, T (&items)[Items]) { for (int i = 0; i < Items; ++i) to[threadIdx.x * Items + i] = items[i]; }
  template <class It> __device__ inline void Store(It to, T (&items)[Items], int valid) { for (int i = 0; i < Items; ++i) if (int(threadIdx.x) * Items + i < valid) to[threadIdx.x * Items + i] = items[i]; }
 private:
  TempStorage* s;
};
template <class Key, int BlockX, int Items, class Value = int> class BlockRadixSort {
 public:
  struct TempStorage { __torchless_raw<Key, BlockX * Items> word; };
  __device__ inline BlockRadixSort(TempStorage& storage) : s(&storage) {}
  __device__ inline void Sort(Key (&keys)[Items]) { s->word[0] = keys[0]; }
  __device__ inline void Sort(Key (&keys)[Items], Value (&values)[Items]) { s->word[0] = keys[0]; }
  __device__ inline void SortDescending(Key (&keys)[Items]) { s->word[0] = keys[0]; }
  __device__ inline void SortDescending(Key (&keys)[Items], Value (&values)[Items]) { s->word[0] = keys[0]; }
  __device__ inline void SortBlockedToStriped(Key (&keys)[Items]) { s->word[0] = keys[0]; }
  __device__ inline void SortBlockedToStriped(Key (&keys)[Items], Value (&values)[Items]) { s->word[0] = keys[0]; }
  __device__ inline void SortDescendingBlockedToStriped(Key (&keys)[Items]) { s->word[0] = keys[0]; }
  __device__ inline void SortDescendingBlockedToStriped(Key (&keys)[Items], Value (&values)[Items]) { s->word[0] = keys[0]; }
 private:
  TempStorage* s;
};
template <class T, int Lanes = 64, int Arch = 1> class WarpReduce {
 public:
  struct TempStorage { __torchless_raw<T, Lanes> word; };
  __device__ inline WarpReduce(TempStorage& storage) : s(&storage) {}
  template <class Op> __device__ inline T Reduce(T input, Op op) { s->word[threadIdx.x % Lanes] = input; return op(s->word[0], input); }
  __device__ inline T Sum(T input) { return Reduce(input, hipcub::Sum()); }
 private:
  TempStorage* s;
};
}  // namespace hipcub
