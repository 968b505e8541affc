#ifndef TG_DRIVERS_PCI_BARRIERS_H_
#define TG_DRIVERS_PCI_BARRIERS_H_

// Orderings between this processor's memory accesses and a device, named by what they are for.
// Accesses through pci::Region already happen in the order of the calls; these are for code that
// touches mapped registers and DMA memory itself. On x86 stores become visible in order and DMA is
// coherent, so the first two only stop the compiler (Intel SDM vol. 3, 8.2); on ARMv8 device and
// normal memory are ordered by barriers over the outer shareable domain (Arm ARM, B2.3).

#include <atomic>

namespace tg::pci {

// What was written to DMA memory before is seen by a device that is told to look by a later
// register write: before ringing a doorbell.
inline void BeforeDoorbell() {
#if defined(__aarch64__)
  asm volatile("dmb oshst" ::: "memory");
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

// What the device wrote to DMA memory before it set the flag that was just read is seen by later
// loads: after reading a flag, before reading what it announces.
inline void AfterDeviceFlag() {
#if defined(__aarch64__)
  asm volatile("dmb oshld" ::: "memory");
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

// Stores to write-combining memory (prefetchable BARs) leave the processor before later ones.
inline void FlushWriteCombining() {
#if defined(__x86_64__)
  asm volatile("sfence" ::: "memory");
#elif defined(__aarch64__)
  asm volatile("dsb st" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace tg::pci

#endif  // TG_DRIVERS_PCI_BARRIERS_H_
