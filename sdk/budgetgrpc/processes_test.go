package budgetgrpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/budgetgrpc"
	"github.com/laxity-dev/laxity/sdk/budgethttp"
)

const serviceEnv, skewEnv = "LAXITY_TEST_SERVICE", "LAXITY_TEST_CLOCK_SKEW"

func TestMain(m *testing.M) {
	if os.Getenv(serviceEnv) != "" {
		serveAsProcess()
		return
	}
	os.Exit(m.Run())
}

// Six services, each its own process, mix HTTP and gRPC. On no call has the callee more time than its caller had left. In
// soak the processes' wall clocks are a minute and a half apart: they run a standard library whose clock is wrong.
func TestT21_ProcessesMixingHTTPAndGRPC(t *testing.T) {
	binary, requests, skews := os.Args[0], 100, []int{0, 0, 0, 0, 0, 0}
	if os.Getenv("LAXITY_SOAK") != "" {
		binary, requests, skews = skewedBinary(t), 1000, []int{0, 90, -90, 90, -90, 0}
	}
	var services []*process
	for _, skew := range skews {
		services = append(services, startProcess(t, binary, skew))
	}
	for i, s := range services {
		var below []string
		for _, p := range services[i+1:] {
			below = append(below, p.http+" "+p.grpc)
		}
		fmt.Fprintln(s.in, strings.Join(below, ","))
	}
	var failed atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range requests / 4 {
				ms := rand.IntN(400)
				req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+services[rand.IntN(2)].http, nil)
				req.Header.Set(budgetattr.HeaderTimeout, strconv.Itoa(ms))
				req.Header.Set("Had", strconv.FormatInt(int64(ms)*1e6, 10))
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					failed.Add(1)
					continue
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
	hops, grew := 0, 0
	for i, s := range services {
		_ = s.in.Close()
		h, g := s.report(t)
		hops, grew = hops+h, grew+g
		if apart := s.wall.Sub(s.seen); (apart - time.Duration(skews[i])*time.Second).Abs() > 20*time.Second {
			t.Errorf("service %d: its clock is %v apart, wanted %d s", i, apart, skews[i])
		}
	}
	if grew > 0 || failed.Load() > 0 || hops < requests {
		t.Errorf("%d of %d hops had more than their callers; %d requests failed", grew, hops, failed.Load())
	}
	t.Logf("%d hops, clocks apart by %v s", hops, skews)
}

// process is one service as the test sees it.
type process struct {
	http, grpc string
	wall, seen time.Time
	in         io.WriteCloser
	out        *bufio.Scanner
	cmd        *exec.Cmd
}

func startProcess(t *testing.T, binary string, skew int) *process {
	t.Helper()
	p := &process{cmd: exec.Command(binary)}
	p.cmd.Env = append(os.Environ(), serviceEnv+"=1", skewEnv+"="+strconv.Itoa(skew))
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	p.in, p.out = in, bufio.NewScanner(out)
	if !p.out.Scan() {
		t.Fatal("a service did not start")
	}
	f := strings.Fields(p.out.Text())
	unix, _ := strconv.ParseInt(f[2], 10, 64)
	p.http, p.grpc, p.wall, p.seen = f[0], f[1], time.Unix(unix, 0), time.Now().Round(0)
	return p
}

// report reads what the service counted.
func (p *process) report(t *testing.T) (hops, grew int) {
	t.Helper()
	if !p.out.Scan() {
		t.Fatal("a service ended without its report")
	}
	if _, err := fmt.Sscan(p.out.Text(), &hops, &grew); err != nil {
		t.Fatal(err)
	}
	return hops, grew
}

// skewedBinary builds this test with a clock that is off by what the environment says.
func skewedBinary(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	const now = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	if strings.Count(string(text), now) != 1 {
		t.Fatal("time.Now has changed: adapt the patch in this test")
	}
	patched := strings.Replace(string(text), now, strings.Replace(now, "\tif", "\tsec += clockSkew\n\tif", 1), 1)
	skew := "package time\n\nimport \"syscall\"\n\nvar clockSkew = func() (n int64) {\n\ts, _ := syscall.Getenv(\"" + skewEnv + "\")\n" +
		"\tfor i := range len(s) {\n\t\tif s[i] >= '0' && s[i] <= '9' {\n\t\t\tn = n*10 + int64(s[i]-'0')\n\t\t}\n\t}\n" +
		"\tif len(s) > 0 && s[0] == '-' {\n\t\tn = -n\n\t}\n\treturn n\n}()\n"
	overlay := map[string]map[string]string{"Replace": {
		original: filepath.Join(dir, "time.go"), filepath.Join(filepath.Dir(original), "skew.go"): filepath.Join(dir, "skew.go"),
	}}
	list, _ := json.Marshal(overlay)
	for name, content := range map[string]string{"time.go": patched, "skew.go": skew, "overlay.json": string(list)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "services.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// node is the service that runs in a process of its own.
type node struct {
	grpc_health_v1.UnimplementedHealthServer
	below      []neighbour
	client     *http.Client
	hops, grew atomic.Int64
}

type neighbour struct {
	http string
	grpc grpc_health_v1.HealthClient
}

func (n *node) work(ctx context.Context, had string) {
	n.hops.Add(1)
	limit, err := strconv.ParseInt(had, 10, 64)
	if received, ok := budget.FromContext(ctx).Grant().Received.Get(); err != nil || !ok || int64(received) > limit {
		n.grew.Add(1)
	}
	time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
	for range rand.IntN(4) {
		if len(n.below) == 0 {
			return
		}
		to := n.below[rand.IntN(len(n.below))]
		left, _ := budget.Remaining(ctx)
		has := strconv.FormatInt(int64(left), 10)
		if rand.IntN(2) == 0 {
			req, _ := http.NewRequestWithContext(ctx, "GET", "http://"+to.http, nil)
			req.Header.Set("Had", has)
			if resp, err := n.client.Do(req); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		} else {
			_, _ = to.grpc.Check(metadata.AppendToOutgoingContext(ctx, "had", has), &grpc_health_v1.HealthCheckRequest{})
		}
	}
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.work(r.Context(), r.Header.Get("Had"))
}

func (n *node) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	n.work(ctx, strings.Join(md.Get("had"), ""))
	return &grpc_health_v1.HealthCheckResponse{}, nil
}

// serveAsProcess says where it listens and what time it thinks it is, reads who is below it, serves until its input ends,
// and says what it counted.
func serveAsProcess() {
	policy := budget.Policy{Default: time.Second, Max: 2 * time.Second, Trust: budget.TrustInternal, Reserve: time.Millisecond,
		Control: budget.NewControl("", budget.WithRejectionCap(1))}
	n := &node{client: &http.Client{Transport: budgethttp.NewTransport(&http.Transport{MaxIdleConnsPerHost: 16})}}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	exitOn(err)
	rpc, err := net.Listen("tcp", "127.0.0.1:0")
	exitOn(err)
	fmt.Println(web.Addr(), rpc.Addr(), time.Now().Unix())
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	for line := range strings.SplitSeq(in.Text(), ",") {
		if f := strings.Fields(line); len(f) == 2 {
			cc, err := grpc.NewClient(f[1], append(budgetgrpc.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
			exitOn(err)
			n.below = append(n.below, neighbour{http: f[0], grpc: grpc_health_v1.NewHealthClient(cc)})
		}
	}
	srv := grpc.NewServer(budgetgrpc.ServerOptions(policy)...)
	grpc_health_v1.RegisterHealthServer(srv, n)
	go func() { exitOn(srv.Serve(rpc)) }()
	go func() { exitOn(http.Serve(web, budgethttp.NewMiddleware(policy)(n))) }()
	in.Scan()
	fmt.Println(n.hops.Load(), n.grew.Load())
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
