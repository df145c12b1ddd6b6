//! Waiting for sockets, to the microsecond.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::checked;

/// A socket that a wait named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The token it was added with.
    pub token: u64,
    /// It can be read.
    pub readable: bool,
    /// It can be written to.
    pub writable: bool,
    /// The other side has closed it, or it has an error.
    pub closing: bool,
}

/// A set of sockets to wait on (epoll). A socket is named as long as it is ready where it was added
/// by [`add`](Self::add), and once each time it becomes so where by [`add_stream`](Self::add_stream).
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    events: Box<[libc::epoll_event]>,
}

impl Poller {
    /// An empty set that reports at most `most` ready sockets a wait.
    pub fn new(most: usize) -> io::Result<Self> {
        // SAFETY: the call takes no pointer.
        let fd = checked(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: `fd` was just made by the kernel for us, it has no other owner.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        let empty = libc::epoll_event { events: 0, u64: 0 };
        Ok(Poller { epoll, events: vec![empty; most.max(1)].into() })
    }

    /// Adds a socket: it is ready when it can be read, or has an error.
    pub fn add(&self, socket: &impl AsFd, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: token };
        let fd = socket.as_fd().as_raw_fd();
        // SAFETY: `event` is valid for the call, both descriptors are open.
        checked(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event) })?;
        Ok(())
    }

    /// Adds a stream: each change of its readiness is reported once.
    pub fn add_stream(&self, socket: &impl AsFd, token: u64) -> io::Result<()> {
        self.add_edges(socket, token, libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP)
    }

    /// The same for a stream to which nothing more will be written: that it is writable is not
    /// reported.
    pub fn add_written_stream(&self, socket: &impl AsFd, token: u64) -> io::Result<()> {
        self.add_edges(socket, token, libc::EPOLLIN | libc::EPOLLRDHUP)
    }

    fn add_edges(&self, socket: &impl AsFd, token: u64, wanted: i32) -> io::Result<()> {
        let wanted = wanted | libc::EPOLLET;
        let mut event = libc::epoll_event { events: wanted as u32, u64: token };
        let fd = socket.as_fd().as_raw_fd();
        // SAFETY: `event` is valid for the call, both descriptors are open.
        checked(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event) })?;
        Ok(())
    }

    /// Waits until a socket is ready or `timeout_ns` has passed; gives the tokens of the ready.
    ///
    /// `None` waits for ever. A signal ends the wait early, with no token.
    pub fn wait(&mut self, timeout_ns: Option<u64>) -> io::Result<impl Iterator<Item = u64> + '_> {
        Ok(self.wait_events(timeout_ns)?.iter().map(|event| event.u64))
    }

    /// The same, with what each is ready for.
    pub fn wait_ready(&mut self, timeout_ns: Option<u64>) -> io::Result<impl Iterator<Item = Ready> + '_> {
        let has = |event: &libc::epoll_event, flags: i32| event.events & flags as u32 != 0;
        Ok(self.wait_events(timeout_ns)?.iter().map(move |event| Ready {
            token: event.u64,
            readable: has(event, libc::EPOLLIN),
            writable: has(event, libc::EPOLLOUT),
            closing: has(event, libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR),
        }))
    }

    fn wait_events(&mut self, timeout_ns: Option<u64>) -> io::Result<&[libc::epoll_event]> {
        let timeout = timeout_ns.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as _,
            tv_nsec: (ns % 1_000_000_000) as libc::c_long,
        });
        let timeout_pointer = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: `events` is valid for writes of the given number of entries, the timeout is null
        // or a valid timespec, the signal mask is null (its size is then not looked at).
        let ready = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as libc::c_int,
                timeout_pointer,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        let ready = match checked(ready as libc::c_int) {
            Ok(ready) => ready as usize,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => self.wait_as_before_5_11(timeout)?,
            Err(error) => return Err(error),
        };
        Ok(&self.events[..ready])
    }

    /// The same on kernels without `epoll_pwait2`: the set itself is waited for, to the nanosecond,
    /// and then passed on.
    fn wait_as_before_5_11(&mut self, timeout: Option<libc::timespec>) -> io::Result<usize> {
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let epoll = self.epoll.as_raw_fd();
        let mut set = libc::pollfd { fd: epoll, events: libc::POLLIN, revents: 0 };
        // SAFETY: one pollfd that lives during the call; timeout and mask are null or valid.
        if unsafe { libc::ppoll(&mut set, 1, timeout, std::ptr::null()) } <= 0 {
            return Ok(0);
        }
        // SAFETY: `events` is valid for writes of the given number of entries.
        let ready =
            unsafe { libc::epoll_wait(epoll, self.events.as_mut_ptr(), self.events.len() as libc::c_int, 0) };
        Ok(checked(ready)? as usize)
    }
}

/// A set can be waited for itself: it is readable while a socket of it is ready.
impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic_ns;
    use std::net::UdpSocket;

    #[test]
    fn a_wait_ends_at_its_time_and_not_before() {
        let mut poller = Poller::new(4).unwrap();
        let start = monotonic_ns();
        assert_eq!(poller.wait(Some(2_000_000)).unwrap().count(), 0);
        assert!(monotonic_ns() - start >= 2_000_000);
    }

    #[test]
    fn an_older_kernel_waits_as_long_and_finds_the_same() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut poller = Poller::new(4).unwrap();
        poller.add(&socket, 5).unwrap();
        let (start, short) = (monotonic_ns(), libc::timespec { tv_sec: 0, tv_nsec: 2_000_000 });
        assert_eq!(poller.wait_as_before_5_11(Some(short)).unwrap(), 0);
        assert!(monotonic_ns() - start >= 2_000_000);
        socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
        assert_eq!(poller.wait_as_before_5_11(None).unwrap(), 1);
        assert_eq!({ poller.events[0].u64 }, 5);
    }

    #[test]
    fn a_stream_is_reported_once_for_each_change() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        let mut poller = Poller::new(4).unwrap();
        poller.add_stream(&ours, 3).unwrap();
        let mut ready = || poller.wait_ready(Some(1_000_000_000)).unwrap().next();
        assert!(matches!(ready(), Some(Ready { token: 3, readable: false, writable: true, closing: false })));
        std::io::Write::write_all(&mut theirs, b"x").unwrap();
        assert!(matches!(ready(), Some(Ready { readable: true, closing: false, .. })));
        drop(theirs);
        assert!(matches!(ready(), Some(Ready { closing: true, .. })));
        assert_eq!(poller.wait_ready(Some(0)).unwrap().next(), None);
    }

    #[test]
    fn a_written_stream_is_reported_for_data_also_for_earlier_data() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut theirs, b"x").unwrap();
        let mut poller = Poller::new(4).unwrap();
        poller.add_written_stream(&ours, 3).unwrap();
        let mut ready = || poller.wait_ready(Some(100_000_000)).unwrap().next();
        assert!(matches!(ready(), Some(Ready { token: 3, readable: true, writable: false, .. })));
        drop(theirs);
        assert!(matches!(ready(), Some(Ready { closing: true, .. })));
    }

    #[test]
    fn a_set_of_sets_reports_those_with_ready_members() {
        let (a, b) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let (mut inner, mut outer) = (Poller::new(4).unwrap(), Poller::new(4).unwrap());
        inner.add(&b, 1).unwrap();
        outer.add(&inner, 9).unwrap();
        a.send_to(b"x", b.local_addr().unwrap()).unwrap();
        assert_eq!(outer.wait(None).unwrap().collect::<Vec<_>>(), [9]);
        assert_eq!(inner.wait(Some(0)).unwrap().collect::<Vec<_>>(), [1]);
        b.recv_from(&mut [0; 8]).unwrap();
        assert_eq!(outer.wait(Some(0)).unwrap().count(), 0);
    }

    #[test]
    fn a_packet_ends_the_wait_with_the_token_of_its_socket() {
        let (a, b) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let mut poller = Poller::new(4).unwrap();
        poller.add(&a, 7).unwrap();
        poller.add(&b, 9).unwrap();
        a.send_to(b"x", b.local_addr().unwrap()).unwrap();
        assert_eq!(poller.wait(None).unwrap().collect::<Vec<_>>(), [9]);
    }
}
