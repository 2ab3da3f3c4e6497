#!/usr/bin/perl
# SPDX-License-Identifier: MIT
#
# Calls a hook script as vzdump does, so that the hook is tested against what it will meet. What is
# imitated: PVE/VZDump.pm (run_hook_script, exec_backup, exec_backup_task), PVE/Cmd.pm (run) and
# PVE/RESTEnvironment.pm (fork_worker, check_worker), as far as a hook can see them:
#
#   - a worker with its own session and process group and the title "task UPID:..."
#   - argv without a shell, an emptied environment, stdin at its end, stdout and stderr read line by
#     line until both are closed and the child is reaped
#   - a signal while a hook runs: the call fails, the hook is neither killed nor waited for, and the
#     next guest is started all the same
#
# vzdump.pl run [options]         runs one job in a worker and waits for it
#   --hook PATH  --log FILE       the script; the task log
#   --pidfile FILE                gets the worker's pid
#   --storage S | --dumpdir DIR   (--dir: the storage is of a dir type: DUMPDIR, LOGFILE are set)
#   --node NAME                   the node that its task id names (pve1 unless said)
#   --guest VMID:TYPE:MODE:NAME   any number of them; MODE stopped: stop mode of a guest that is down
#   --job ID --root DIR           a scheduled job: its state file below DIR, after --state-delay s
#   --env NAME=VALUE              for tests: goes on top of vzdump's own variables
#   --copy FILE                   each guest's data copy lasts until FILE exists (VMID in it is the guest's)
# vzdump.pl stop PID              what the Stop button does: SIGTERM to the group, SIGKILL 5 s later

use strict;
use warnings;

use Getopt::Long;
use IO::Select;
use IPC::Open3;
use POSIX qw(:sys_wait_h setsid);
use Symbol qw(gensym);
use Time::HiRes qw(sleep);

my $opt = { guest => [], env => [], storage => undef };
my ($log_fh, %hook_env);

sub logline {
    my ($level, $text) = @_;
    syswrite($log_fh, "$level: $text\n");
}

sub start_ticks {
    my ($pid) = @_;
    open(my $fh, '<', "/proc/$pid/stat") or return 0;
    my $stat = <$fh>;
    $stat =~ s/^.*\) //;
    return (split(/ /, $stat))[19];
}

# PVE::Cmd::run, with an array: no shell.
sub run_command {
    my ($cmd, $outfunc) = @_;

    my $name = join(' ', @$cmd);
    my ($pid, $oldact);
    my ($writer, $reader, $error) = (gensym, gensym, gensym);
    my %buffer = (out => '', err => '');

    eval {
        local $SIG{TERM} = local $SIG{INT} = local $SIG{QUIT} = local $SIG{HUP} =
            sub { die "interrupted by signal\n" };

        $pid = open3($writer, $reader, $error, @$cmd);
        close($writer);
        my $select = IO::Select->new($reader, $error);
        while ($select->count) {
            for my $fh ($select->can_read(1)) {
                my $count = sysread($fh, my $part, 4096);
                next if !defined($count);
                my $which = $fh == $reader ? 'out' : 'err';
                if ($count == 0) {
                    $select->remove($fh);
                    next;
                }
                $buffer{$which} .= $part;
                while ($buffer{$which} =~ s/^([^\010\r\n]*)(?:\n|\010+|\r\n|\r)//) {
                    $outfunc->($1) if $1;
                }
            }
        }
        $outfunc->($_) for grep { $_ } values %buffer;
        waitpid($pid, 0);
        my $status = $?;
        die "got signal " . ($status & 127) . "\n" if $status & 127;
        die "exit code " . ($status >> 8) . "\n" if $status >> 8;
    };
    my $err = $@;
    # The handles go out of scope here, the child is left alone.
    if ($err) {
        chomp $err;
        die "command '$name' failed: $err\n";
    }
}

sub run_hook_script {
    my ($phase, $guest) = @_;

    return if !$opt->{hook};
    my $cmd = [$opt->{hook}, $phase];
    push @$cmd, $guest->{mode}, $guest->{vmid} if $guest;

    local %ENV;
    $ENV{LC_ALL} = 'C';
    $ENV{LVM_SUPPRESS_FD_WARNINGS} = '1';
    for my $name (qw(STOREID DUMPDIR)) {
        $ENV{$name} = $hook_env{$name} if defined($hook_env{$name});
    }
    delete $ENV{DUMPDIR} if $phase eq 'job-init' && !$opt->{dumpdir};
    if ($guest) {
        for my $name (qw(VMTYPE HOSTNAME TARGET LOGFILE)) {
            $ENV{$name} = $guest->{$name} if defined($guest->{$name});
        }
    }
    for my $pair (@{ $opt->{env} }) {
        my ($name, $value) = split(/=/, $pair, 2);
        $ENV{$name} = $value;
    }
    run_command($cmd, sub { logline('INFO', $_[0]) });
}

sub copy_data {
    my ($guest) = @_;
    logline('INFO', "copying data of $guest->{vmid}");
    if (my $file = $opt->{copy}) {
        $file =~ s/VMID/$guest->{vmid}/;
        sleep(0.02) while !-e $file;
    }
}

# The order of exec_backup_task; a container is taken like a VM.
sub backup {
    my ($guest) = @_;
    my $mode = $guest->{mode};

    my $hook = sub { run_hook_script($_[0], $guest) };
    my $restart_needed = 0;
    eval {
        $hook->('backup-start');
        if ($mode eq 'snapshot') {
            $hook->('pre-stop');
            $hook->('pre-restart');
            $hook->('post-restart');
            copy_data($guest);
            $hook->('backup-end');
        } elsif ($guest->{down}) {
            copy_data($guest);
            $hook->('backup-end');
        } else {
            $hook->('pre-stop');
            $restart_needed = 1;
            copy_data($guest);
            $hook->('backup-end');
        }
    };
    my $err = $@;
    if ($restart_needed) {
        eval {
            $hook->('pre-restart');
            logline('INFO', "guest $guest->{vmid} is started again");
            $hook->('post-restart');
        };
        logline('WARN', "guest $guest->{vmid} stays down: $@") if $@;
    }
    if ($err) {
        chomp $err;
        logline('ERROR', "Backup of VM $guest->{vmid} failed - $err");
        eval { $hook->('backup-abort') };
        logline('WARN', $@) if $@;
    }
    eval { $hook->('log-end') };
    logline('WARN', $@) if $@;
    # Only the bare text ends the job; a hook's failure has words before it.
    die $err . "\n" if $err =~ m/^interrupted by signal$/;
    return !$err;
}

sub job {
    my $failed = 0;

    run_hook_script('job-init');
    eval {
        logline('INFO', 'lock taken');
        run_hook_script('job-start');
        for my $guest (sort { $a->{vmid} <=> $b->{vmid} } @{ $opt->{guests} }) {
            logline('INFO', "Starting Backup of VM $guest->{vmid} ($guest->{VMTYPE})");
            $failed++ if !backup($guest);
        }
        run_hook_script('job-end');
    };
    if (my $err = $@) {
        eval { run_hook_script('job-abort') };
        $err .= $@ if $@;
        die $err;
    }
    die "job errors\n" if $failed;
}

sub state_file {
    my ($upid) = @_;

    return if !$opt->{job};
    my $dir = "$opt->{root}/var/lib/pve-manager/jobs";
    my $pid = fork();
    return if $pid;
    sleep($opt->{'state-delay'} // 0);
    open(my $fh, '>', "$dir/.new") or POSIX::_exit(1);
    print $fh qq({"state":"started","upid":"$upid","time":1}\n);
    close($fh);
    rename("$dir/.new", "$dir/vzdump-$opt->{job}.json");
    POSIX::_exit(0);
}

sub worker {
    setsid();
    my @guests = @{ $opt->{guests} };
    my $id = @guests == 1 ? $guests[0]->{vmid} : '';
    my $upid = sprintf("UPID:%s:%08X:%08X:%08X:vzdump:%s:root\@pam:",
        $opt->{node} // 'pve1', $$, start_ticks($$), time(), $id);
    state_file($upid);
    $0 = "task $upid";
    if ($opt->{pidfile}) {
        open(my $fh, '>', "$opt->{pidfile}.new") or die "pidfile: $!\n";
        print $fh "$$\n";
        close($fh);
        rename("$opt->{pidfile}.new", $opt->{pidfile});
    }
    open(STDIN, '<', '/dev/null');
    logline('INFO', "starting new backup job $upid");
    $SIG{TERM} = $SIG{INT} = $SIG{QUIT} = $SIG{HUP} = sub { die "interrupted by signal\n" };
    eval { job() };
    my $err = $@;
    chomp $err;
    syswrite($log_fh, $err ? "TASK ERROR: $err\n" : "TASK OK\n");
    POSIX::_exit($err ? 1 : 0);
}

sub run {
    GetOptions($opt, 'hook=s', 'log=s', 'pidfile=s', 'storage=s', 'dumpdir=s', 'dir', 'guest=s@',
        'node=s', 'job=s', 'root=s', 'state-delay=f', 'env=s@', 'copy=s') or exit(2);
    open($log_fh, '>>', $opt->{log}) or die "$opt->{log}: $!\n";
    $hook_env{STOREID} = $opt->{storage} // 'local' if !$opt->{dumpdir};
    $hook_env{DUMPDIR} = $opt->{dumpdir} // '/mnt/pve/nas/dump' if $opt->{dumpdir} || $opt->{dir};
    for my $text (@{ $opt->{guest} }) {
        my ($vmid, $type, $mode, $name) = split(/:/, $text);
        my $guest = { vmid => $vmid, VMTYPE => $type, HOSTNAME => $name, mode => $mode };
        if ($mode eq 'stopped') {
            $guest->{mode} = 'stop';
            $guest->{down} = 1;
        }
        my $short = $type eq 'qemu' ? 'vm' : 'ct';
        $guest->{TARGET} = $opt->{dir} ? "/mnt/pve/nas/dump/vzdump-$type-$vmid.vma"
            : "$short/$vmid/2026-11-30T20:00:00Z";
        $guest->{LOGFILE} = "/mnt/pve/nas/dump/vzdump-$type-$vmid.log" if $opt->{dir};
        push @{ $opt->{guests} }, $guest;
    }
    $opt->{guests} //= [];
    my $pid = fork() // die "fork: $!\n";
    worker() if !$pid;
    waitpid($pid, 0);
    my $status = $?;
    syswrite($log_fh, "TASK ERROR: killed by signal " . ($status & 127) . "\n") if $status & 127;
    exit($status & 127 ? 128 + ($status & 127) : $status >> 8);
}

sub stop {
    my ($pid) = @_;
    my $ticks = start_ticks($pid) or exit(0);
    kill('TERM', -$pid);
    for (1 .. 5) {
        sleep(1);
        my $now = start_ticks($pid);
        exit(0) if !$now || $now ne $ticks;
    }
    kill('KILL', -$pid);
    print "killed\n";
}

my $verb = shift(@ARGV) // '';
if ($verb eq 'run') {
    run();
} elsif ($verb eq 'stop' && @ARGV == 1) {
    stop($ARGV[0]);
} else {
    die "usage: vzdump.pl run OPTIONS | stop PID\n";
}
