package main

import (
	"encoding/binary"
	"fmt"
)

// capabilityBit has the numbers of linux/capability.h.
var capabilityBit = map[string]uint{
	"cap_chown": 0, "cap_dac_override": 1, "cap_dac_read_search": 2, "cap_fowner": 3, "cap_fsetid": 4,
	"cap_kill": 5, "cap_setgid": 6, "cap_setuid": 7, "cap_setpcap": 8, "cap_linux_immutable": 9,
	"cap_net_bind_service": 10, "cap_net_broadcast": 11, "cap_net_admin": 12, "cap_net_raw": 13,
	"cap_ipc_lock": 14, "cap_ipc_owner": 15, "cap_sys_module": 16, "cap_sys_rawio": 17,
	"cap_sys_chroot": 18, "cap_sys_ptrace": 19, "cap_sys_pacct": 20, "cap_sys_admin": 21,
	"cap_sys_boot": 22, "cap_sys_nice": 23, "cap_sys_resource": 24, "cap_sys_time": 25,
	"cap_sys_tty_config": 26, "cap_mknod": 27, "cap_lease": 28, "cap_audit_write": 29,
	"cap_audit_control": 30, "cap_setfcap": 31, "cap_mac_override": 32, "cap_mac_admin": 33,
	"cap_syslog": 34, "cap_wake_alarm": 35, "cap_block_suspend": 36, "cap_audit_read": 37,
	"cap_perfmon": 38, "cap_bpf": 39, "cap_checkpoint_restore": 40,
}

// capabilityXattr is the value of security.capability, struct vfs_cap_data of linux/capability.h in
// revision 2: the capabilities are permitted, and where effective is set they are so from the start, so
// that a program that knows nothing of capabilities has them too. Without capabilities it is empty.
func capabilityXattr(names []string, effective bool) (string, error) {
	if len(names) == 0 {
		return "", nil
	}
	const (
		revision2    = 0x02000000
		effectiveBit = 0x000001
	)
	head := uint32(revision2)
	if effective {
		head |= effectiveBit
	}
	var permitted uint64
	for _, name := range names {
		bit, ok := capabilityBit[name]
		if !ok {
			return "", fmt.Errorf("%q is no capability; they are written cap_net_raw", name)
		}
		permitted |= 1 << bit
	}
	var data []byte
	data = binary.LittleEndian.AppendUint32(data, head)
	data = binary.LittleEndian.AppendUint32(data, uint32(permitted))
	data = binary.LittleEndian.AppendUint32(data, 0) // inheritable
	data = binary.LittleEndian.AppendUint32(data, uint32(permitted>>32))
	data = binary.LittleEndian.AppendUint32(data, 0)
	return string(data), nil
}
