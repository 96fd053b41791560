// An executor on xxl-job-executor-go. A handler that panics is how a run fails there.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	xxl "github.com/xxl-job/xxl-job-executor-go"
)

// The lines that runs have logged, by log id: the library keeps none.
var logs sync.Map

func handler(run func(ctx context.Context, call *xxl.RunReq, shard string) string) xxl.TaskFunc {
	return func(ctx context.Context, call *xxl.RunReq) string {
		shard := fmt.Sprintf("%d/%d", call.BroadcastIndex, call.BroadcastTotal)
		fmt.Printf("runs %s %s %s\n", call.ExecutorHandler, call.ExecutorParams, shard)
		return run(ctx, call, shard)
	}
}

func echo(_ context.Context, call *xxl.RunReq, shard string) string {
	return call.ExecutorParams + " " + shard
}

func fail(_ context.Context, call *xxl.RunReq, _ string) string {
	panic(call.ExecutorParams)
}

func sleep(ctx context.Context, call *xxl.RunReq, _ string) string {
	ms, err := strconv.Atoi(call.ExecutorParams)
	if err != nil {
		panic(err)
	}
	select {
	case <-ctx.Done():
		panic(ctx.Err())
	case <-time.After(time.Duration(ms) * time.Millisecond):
	}
	return "slept " + call.ExecutorParams
}

func log(_ context.Context, call *xxl.RunReq, _ string) string {
	count, err := strconv.Atoi(call.ExecutorParams)
	if err != nil {
		panic(err)
	}
	var lines []string
	for line := 1; line <= count; line++ {
		lines = append(lines, fmt.Sprintf("line %d", line))
	}
	logs.Store(call.LogID, lines)
	return call.ExecutorParams + " lines"
}

func readLog(call *xxl.LogReq) *xxl.LogRes {
	lines := []string{}
	if found, ok := logs.Load(call.LogID); ok {
		lines = found.([]string)
	}
	rest := lines[min(max(call.FromLineNum-1, 0), len(lines)):]
	text := ""
	if len(rest) > 0 {
		text = strings.Join(rest, "\n") + "\n"
	}
	return &xxl.LogRes{Code: xxl.SuccessCode, Content: xxl.LogResContent{
		FromLineNum: call.FromLineNum, ToLineNum: len(lines), LogContent: text, IsEnd: true}}
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

func max(a, b int) int {
	return -min(-a, -b)
}

func main() {
	executor := xxl.NewExecutor(
		xxl.ServerAddr(os.Args[1]), xxl.RegistryKey(os.Args[2]), xxl.ExecutorIp("127.0.0.1"),
		xxl.ExecutorPort(os.Args[3]), xxl.AccessToken(os.Args[4]))
	executor.Init()
	executor.LogHandler(readLog)
	executor.RegTask("echo", handler(echo))
	executor.RegTask("fail", handler(fail))
	executor.RegTask("sleep", handler(sleep))
	executor.RegTask("log", handler(log))
	if err := executor.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
