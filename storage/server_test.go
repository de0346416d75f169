package storage_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/laxity-dev/laxity/engine/enginetest"
	"github.com/laxity-dev/laxity/internal/listen"
	"github.com/laxity-dev/laxity/migrations"
	"github.com/laxity-dev/laxity/storage"
)

// oldServer runs Debian's ClickHouse, which is of 2018: too old for the tables, but a real server for the native protocol.
func oldServer(t *testing.T) (native, secure, http string) {
	t.Helper()
	binary, err := exec.LookPath("clickhouse-server")
	if err != nil {
		binary = "/usr/sbin/clickhouse-server"
		if _, err := os.Stat(binary); err != nil {
			t.Fatal("clickhouse-server is missing: run make clickhouse-server")
		}
	}
	dir := t.TempDir()
	certificate(t, dir)
	ports := make([]string, 4)
	wanted := map[string]*string{}
	for i := range ports {
		ports[i] = "127.0.0.1:0"
		wanted[fmt.Sprint("port", i)] = &ports[i]
	}
	if err := listen.FreePorts(wanted); err != nil {
		t.Fatal(err)
	}
	port := func(i int) string { _, p, _ := net.SplitHostPort(ports[i]); return p }
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("config.xml", fmt.Sprintf(`<yandex>
<logger><level>warning</level><console>1</console></logger><listen_host>127.0.0.1</listen_host>
<tcp_port>%s</tcp_port><tcp_port_secure>%s</tcp_port_secure><http_port>%s</http_port><interserver_http_port>%s</interserver_http_port>
<path>%[5]s/data/</path><tmp_path>%[5]s/tmp/</tmp_path><users_config>%[5]s/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database><mark_cache_size>100000000</mark_cache_size>
<openSSL><server><certificateFile>%[5]s/cert.pem</certificateFile><privateKeyFile>%[5]s/key.pem</privateKeyFile><verificationMode>none</verificationMode></server></openSSL>
</yandex>`, port(0), port(1), port(2), port(3), dir))
	write("users.xml", `<yandex><profiles><default/></profiles><quotas><default/></quotas><users><laxity><password>s3cret</password>
<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></laxity></users></yandex>`)
	server := exec.CommandContext(t.Context(), binary, "--config-file="+filepath.Join(dir, "config.xml"))
	var out strings.Builder
	server.Stdout, server.Stderr, server.Dir = &out, &out, dir
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	for deadline := time.Now().Add(time.Minute); ; {
		ready := 0
		for _, address := range ports[:3] {
			if c, err := net.Dial("tcp", address); err == nil {
				_ = c.Close()
				ready++
			}
		}
		if ready == 3 {
			return ports[0], ports[1], ports[2]
		}
		if time.Now().After(deadline) {
			t.Fatalf("clickhouse-server is not ready: %s", out.String())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// certificate writes one that nobody vouches for.
func certificate(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "EC PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestServersThatCannotBeUsed(t *testing.T) {
	native, secure, http := oldServer(t)
	for name, c := range map[string]struct {
		dsn  string
		want []string
	}{
		"native":         {"clickhouse://laxity:s3cret@" + native + "/laxity", []string{native, "18.16", "24.8 or newer"}},
		"native, TLS":    {"clickhouse://laxity:s3cret@" + secure + "/laxity?secure=true&skip_verify=true", []string{"18.16", "24.8 or newer"}},
		"untrusted":      {"clickhouse://laxity:s3cret@" + secure + "/laxity?secure=true", []string{"not trusted", "skip_verify"}},
		"TLS to plain":   {"clickhouse://laxity:s3cret@" + native + "/laxity?secure=true", []string{native}},
		"wrong password": {"clickhouse://laxity:wrong@" + native + "/laxity", []string{"refuses user or password"}},
		"unknown user":   {"clickhouse://nobody:s3cret@" + native + "/laxity", []string{"refuses user or password"}},
		"HTTP":           {"http://laxity:s3cret@" + http + "/laxity", []string{http, "24.8 or newer"}},
		"HTTP, password": {"http://laxity:wrong@" + http + "/laxity", []string{"refuses user or password"}},
		"nobody there":   {"clickhouse://127.0.0.1:1/laxity", []string{"127.0.0.1:1", "refused", "start it"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := migrations.Up(ctx, migrations.Config{DSN: c.dsn})
			var refused *storage.ServerError
			if !errors.As(err, &refused) {
				t.Fatalf("%v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v: want %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the password is in %v", err)
			}
		})
	}
	t.Run("the engine", func(t *testing.T) {
		engine := enginetest.Start(t)
		if err := storage.CheckServer(t.Context(), storage.Config{DSN: engine.DSN("nowhere")}); err != nil {
			t.Error(err)
		}
	})
	// The native protocol itself: statements, columns as our inserts send them, rows back, over TLS.
	t.Run("native statements", func(t *testing.T) {
		options, err := storage.Config{DSN: "clickhouse://laxity:s3cret@" + secure + "/default?secure=true&skip_verify=true"}.Options()
		if err != nil {
			t.Fatal(err)
		}
		options.Settings = nil // newer than this server
		conn, err := clickhouse.Open(options)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		ctx := t.Context()
		if err := conn.Exec(ctx, "CREATE TABLE spans (name String, took Int64, margin Nullable(Int64)) ENGINE = Memory"); err != nil {
			t.Fatal(err)
		}
		batch, err := conn.PrepareBatch(ctx, "INSERT INTO spans (name, took, margin)")
		if err != nil {
			t.Fatal(err)
		}
		negative := int64(-300)
		for i, values := range []any{[]string{"a", "b"}, []int64{1, 2}, []*int64{nil, &negative}} {
			if err := batch.Column(i).Append(values); err != nil {
				t.Fatal(err)
			}
		}
		if err := batch.Send(); err != nil {
			t.Fatal(err)
		}
		var names []string
		var took, margin int64
		if err := conn.QueryRow(ctx, "SELECT groupArray(name), sum(took), sum(margin) FROM spans").Scan(&names, &took, &margin); err != nil {
			t.Fatal(err)
		}
		if len(names) != 2 || took != 3 || margin != -300 {
			t.Errorf("%v, %d, %d", names, took, margin)
		}
	})
}
