// A CUDA device for a CPU build of torch: streams and switches of devices that do nothing. Tensors on it get their
// values from pretend.py.
#include <ATen/DeviceAccelerator.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace {
const c10::Device gpu(c10::DeviceType::CUDA, 0);

struct Guard : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA> {
  c10::Stream getStream(c10::Device) const noexcept override { return c10::Stream(c10::Stream::DEFAULT, gpu); }
  c10::Device getDevice() const override { return gpu; }
  c10::Device exchangeDevice(c10::Device) const override { return gpu; }
};
}  // namespace

extern "C" void install() {
  auto place = static_cast<size_t>(c10::DeviceType::CUDA);
  c10::impl::device_guard_impl_registry[place].store(new Guard());
}

// this library is loaded before torch's, so that these take the place of torch's own functions
namespace at::accelerator {
std::optional<c10::DeviceType> getAccelerator(bool) { return c10::DeviceType::CUDA; }
bool isAccelerator(c10::DeviceType type) { return type == c10::DeviceType::CUDA; }
c10::DeviceIndex deviceCount() { return 1; }
c10::DeviceIndex getDeviceIndex() { return 0; }
c10::Stream getCurrentStream(c10::DeviceIndex) { return c10::Stream(c10::Stream::DEFAULT, gpu); }
}  // namespace at::accelerator

namespace at {
struct PretendedHooks : CUDAHooksInterface {
  bool hasCUDA() const override { return false; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
};
namespace detail {
const CUDAHooksInterface& getCUDAHooks() {
  static PretendedHooks hooks;
  return hooks;
}
}  // namespace detail
}  // namespace at
