package main

import (
	"os"
	"strconv"
	"syscall"
)

// niceness of work that waits where the machine is busy.
const niceness = 10

// yield makes this process give way to others. Linux keeps the niceness of each thread; those to come take it from these.
func yield() {
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		// The system call tells 20 less the niceness.
		if p, err := syscall.Getpriority(syscall.PRIO_PROCESS, id); err == nil && 20-p < niceness {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, niceness) // a thread that has ended
		}
	}
}
