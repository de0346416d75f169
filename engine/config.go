package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"time"
)

// DefaultListen is where the engine is found when nothing else is said.
const DefaultListen = "127.0.0.1:8123"

// Config of an engine. The zero value of a field means its default.
type Config struct {
	Listen  string // host:port, port 0 takes a free one; DefaultListen by default
	Data    string // data directory, made if missing; one process at a time
	Library string // libchdb; where make engine-lib puts it by default

	// User and Password that every request must carry. Without a password only "default" (or nobody) is admitted, and
	// Listen must be a loopback address.
	User     string
	Password string

	MaxQueries int   // statements that run at once; default twice the processors, at least 4
	MaxWaiting int   // requests that may wait for their turn; default 128, negative for none
	MaxMemory  int64 // bytes that all statements may use together; default half of the machine's memory
	MaxBody    int64 // bytes of one request body after decompression; default 4 GiB
	MaxInline  int64 // bytes of statement text with the data that follows it; default 256 MiB

	Grace       time.Duration     // what running statements may take to end at a shutdown; default 10 s
	Settings    map[string]string // of every statement that does not bring its own
	ServerFlags []string          // further server settings as --name=value

	Logger *slog.Logger // slog.Default() by default
}

// ErrOpenListen is the refusal to listen beyond this machine without a password.
var ErrOpenListen = errors.New("listening beyond loopback needs a user and a password")

// Validate reports the first thing that cannot work.
func (c *Config) Validate() error {
	if c.Data == "" {
		return errors.New("data directory is not set")
	}
	if strings.ContainsAny(c.Data, "*?{}\n\x00") {
		return fmt.Errorf("data directory %q: the engine reads *, ? and braces in a path as patterns; choose another name", c.Data)
	}
	if c.MaxQueries < 0 || c.MaxMemory < 0 || c.MaxBody < 0 || c.MaxInline < 0 || c.Grace < 0 {
		return errors.New("limits must not be negative")
	}
	if c.Password == "" && c.User != "" && c.User != defaultUser {
		return fmt.Errorf("user %q has no password", c.User)
	}
	host, _, err := net.SplitHostPort(c.listen())
	if err != nil {
		return fmt.Errorf("listen address %q: want host:port: %w", c.listen(), err)
	}
	if c.Password == "" && !isLoopback(host) {
		return fmt.Errorf("%w: %s", ErrOpenListen, c.listen())
	}
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func (c *Config) listen() string {
	if c.Listen == "" {
		return DefaultListen
	}
	return c.Listen
}

// withDefaults fills what the zero value leaves open.
func (c Config) withDefaults() Config {
	c.Listen = c.listen()
	if c.User == "" {
		c.User = defaultUser
	}
	if c.MaxQueries == 0 {
		c.MaxQueries = max(4, 2*runtime.NumCPU())
	}
	if c.MaxWaiting == 0 {
		c.MaxWaiting = 128
	}
	if c.MaxBody == 0 {
		c.MaxBody = 4 << 30
	}
	if c.MaxInline == 0 {
		c.MaxInline = 256 << 20
	}
	if c.Grace == 0 {
		c.Grace = 10 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// serverFlags are the settings the engine boots with.
func (c *Config) serverFlags() []string {
	flags := []string{"--display_name=laxity"}
	if c.MaxMemory > 0 {
		flags = append(flags, fmt.Sprintf("--max_server_memory_usage=%d", c.MaxMemory))
	} else {
		flags = append(flags, "--max_server_memory_usage_to_ram_ratio=0.5")
	}
	return append(flags, c.ServerFlags...)
}
