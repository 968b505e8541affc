#!/bin/sh
# Runs a test program in a virtual machine with QEMU's edu device, on a kernel of Debian 12:
#
#   bazel build //drivers/pci/linux:edu_test
#   drivers/pci/linux/edu_vm.sh bazel-bin/drivers/pci/linux/edu_test
#
# Needs the packages qemu-system-x86 and busybox-static, and in $KERNEL the kernel, as vmlinuz-* of
# an unpacked linux-image package. Emulated: no privileges, 20 seconds. Ends with the test's status.
set -eu
program=$1
kernel=${KERNEL:?KERNEL names a vmlinuz; apt-get download linux-image-amd64\'s dependency and unpack it}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev" "$root/tmp"
cp "$(command -v busybox)" "$root/bin/busybox"
cp "$program" "$root/bin/program"
# The program's shared libraries, and the loader, where they are here.
ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
  mkdir -p "$root$(dirname "$library")"
  cp -L "$library" "$root$library"
done
cat >"$root/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs dev /dev
echo 8 >/proc/sys/vm/nr_hugepages
ulimit -l unlimited
cd /tmp
/bin/program
echo "status=$?"
/bin/busybox poweroff -f
INIT
chmod 755 "$root/init"
(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$work/initrd"
timeout 300 qemu-system-x86_64 -machine q35 -cpu max -m 1024 -nographic -no-reboot \
  -device edu,dma_mask=0xffffffffffffffff -nic none \
  -kernel "$kernel" -initrd "$work/initrd" \
  -append 'console=ttyS0 quiet panic=-1' </dev/null >"$work/output" 2>&1 || true
tr -d '\r' <"$work/output"
tr -d "\r" <"$work/output" | grep -q "^status=0$"
