/* SPDX-License-Identifier: MIT */
/*
 * nats_library.h: libnats, loaded when the first connection is made. Its SONAME and the name of its package differ between
 * releases of Debian and Ubuntu, so the program is not linked with it. Private to fabric/, and to its tests.
 *
 *      natsMsg_Destroy(message)  --macro-->  nats_library.natsMsg_Destroy(message)  --dlsym-->  libnats.so.3.N
 *
 * A function stands in both lists below. Without its macro the program does not link; without the other it does not compile.
 */
#ifndef DPM_NATS_LIBRARY_H
#define DPM_NATS_LIBRARY_H

#include "base/base.h"

#include <nats/nats.h>
#include <signal.h>

#define NATS_FUNCTIONS(F)                                                                          \
    F(nats_GetLastError)                                                                           \
    F(nats_Open)                                                                                   \
    F(nats_Sleep)                                                                                  \
    F(natsConnection_Close)                                                                        \
    F(natsConnection_Connect)                                                                      \
    F(natsConnection_Destroy)                                                                      \
    F(natsConnection_FlushTimeout)                                                                 \
    F(natsConnection_GetLastError)                                                                 \
    F(natsConnection_GetMaxPayload)                                                                \
    F(natsConnection_Publish)                                                                      \
    F(natsConnection_PublishMsg)                                                                   \
    F(natsConnection_PublishRequest)                                                               \
    F(natsConnection_PublishRequestString)                                                         \
    F(natsConnection_PublishString)                                                                \
    F(natsConnection_RequestString)                                                                \
    F(natsConnection_Status)                                                                       \
    F(natsConnection_Subscribe)                                                                    \
    F(natsConnection_SubscribeSync)                                                                \
    F(natsMsg_Create)                                                                              \
    F(natsMsg_Destroy)                                                                             \
    F(natsMsg_GetData)                                                                             \
    F(natsMsg_GetDataLength)                                                                       \
    F(natsMsg_GetReply)                                                                            \
    F(natsMsg_GetSubject)                                                                          \
    F(natsMsgHeader_Get)                                                                           \
    F(natsMsgHeader_Set)                                                                           \
    F(natsOptions_Create)                                                                          \
    F(natsOptions_Destroy)                                                                         \
    F(natsOptions_SetAllowReconnect)                                                               \
    F(natsOptions_SetCATrustedCertificates)                                                        \
    F(natsOptions_SetClosedCB)                                                                     \
    F(natsOptions_SetCustomInboxPrefix)                                                            \
    F(natsOptions_SetDisconnectedCB)                                                               \
    F(natsOptions_SetErrorHandler)                                                                 \
    F(natsOptions_SetExpectedHostname)                                                             \
    F(natsOptions_SetIgnoreDiscoveredServers)                                                      \
    F(natsOptions_SetMaxPingsOut)                                                                  \
    F(natsOptions_SetMaxReconnect)                                                                 \
    F(natsOptions_SetPingInterval)                                                                 \
    F(natsOptions_SetReconnectBufSize)                                                             \
    F(natsOptions_SetReconnectedCB)                                                                \
    F(natsOptions_SetReconnectWait)                                                                \
    F(natsOptions_SetRetryOnFailedConnect)                                                         \
    F(natsOptions_SetSecure)                                                                       \
    F(natsOptions_SetServers)                                                                      \
    F(natsOptions_SetTimeout)                                                                      \
    F(natsOptions_SetURL)                                                                          \
    F(natsOptions_SetUserCredentialsFromFiles)                                                     \
    F(natsOptions_SetUserInfo)                                                                     \
    F(natsOptions_SetWriteDeadline)                                                                \
    F(natsStatus_GetText)                                                                          \
    F(natsSubscription_Destroy)                                                                    \
    F(natsSubscription_Drain)                                                                      \
    F(natsSubscription_NextMsg)                                                                    \
    F(natsSubscription_SetOnCompleteCB)                                                            \
    F(natsSubscription_WaitForDrainCompletion)

struct nats_library {
#define NATS_FUNCTION_MEMBER(name) __typeof__(name) *name;
    NATS_FUNCTIONS(NATS_FUNCTION_MEMBER)
#undef NATS_FUNCTION_MEMBER
};

extern struct nats_library nats_library;

/* Loads libnats, the first time. Must succeed before any of its functions is called; any thread may call it. Returns 0, or
 * -ELIBACC with a line in `problem` that names the package to install. Outside it is fabric_available. */
int nats_library_load(struct problem *problem);

#ifndef NATS_LIBRARY_ITSELF /* nats_library.c, which writes names */
#define nats_GetLastError                       nats_library.nats_GetLastError
#define nats_Open                               nats_library.nats_Open
#define nats_Sleep                              nats_library.nats_Sleep
#define natsConnection_Close                    nats_library.natsConnection_Close
#define natsConnection_Connect                  nats_library.natsConnection_Connect
#define natsConnection_Destroy                  nats_library.natsConnection_Destroy
#define natsConnection_FlushTimeout             nats_library.natsConnection_FlushTimeout
#define natsConnection_GetLastError             nats_library.natsConnection_GetLastError
#define natsConnection_GetMaxPayload            nats_library.natsConnection_GetMaxPayload
#define natsConnection_Publish                  nats_library.natsConnection_Publish
#define natsConnection_PublishMsg               nats_library.natsConnection_PublishMsg
#define natsConnection_PublishRequest           nats_library.natsConnection_PublishRequest
#define natsConnection_PublishRequestString     nats_library.natsConnection_PublishRequestString
#define natsConnection_PublishString            nats_library.natsConnection_PublishString
#define natsConnection_RequestString            nats_library.natsConnection_RequestString
#define natsConnection_Status                   nats_library.natsConnection_Status
#define natsConnection_Subscribe                nats_library.natsConnection_Subscribe
#define natsConnection_SubscribeSync            nats_library.natsConnection_SubscribeSync
#define natsMsg_Create                          nats_library.natsMsg_Create
#define natsMsg_Destroy                         nats_library.natsMsg_Destroy
#define natsMsg_GetData                         nats_library.natsMsg_GetData
#define natsMsg_GetDataLength                   nats_library.natsMsg_GetDataLength
#define natsMsg_GetReply                        nats_library.natsMsg_GetReply
#define natsMsg_GetSubject                      nats_library.natsMsg_GetSubject
#define natsMsgHeader_Get                       nats_library.natsMsgHeader_Get
#define natsMsgHeader_Set                       nats_library.natsMsgHeader_Set
#define natsOptions_Create                      nats_library.natsOptions_Create
#define natsOptions_Destroy                     nats_library.natsOptions_Destroy
#define natsOptions_SetAllowReconnect           nats_library.natsOptions_SetAllowReconnect
#define natsOptions_SetCATrustedCertificates    nats_library.natsOptions_SetCATrustedCertificates
#define natsOptions_SetClosedCB                 nats_library.natsOptions_SetClosedCB
#define natsOptions_SetCustomInboxPrefix        nats_library.natsOptions_SetCustomInboxPrefix
#define natsOptions_SetDisconnectedCB           nats_library.natsOptions_SetDisconnectedCB
#define natsOptions_SetErrorHandler             nats_library.natsOptions_SetErrorHandler
#define natsOptions_SetExpectedHostname         nats_library.natsOptions_SetExpectedHostname
#define natsOptions_SetIgnoreDiscoveredServers  nats_library.natsOptions_SetIgnoreDiscoveredServers
#define natsOptions_SetMaxPingsOut              nats_library.natsOptions_SetMaxPingsOut
#define natsOptions_SetMaxReconnect             nats_library.natsOptions_SetMaxReconnect
#define natsOptions_SetPingInterval             nats_library.natsOptions_SetPingInterval
#define natsOptions_SetReconnectBufSize         nats_library.natsOptions_SetReconnectBufSize
#define natsOptions_SetReconnectedCB            nats_library.natsOptions_SetReconnectedCB
#define natsOptions_SetReconnectWait            nats_library.natsOptions_SetReconnectWait
#define natsOptions_SetRetryOnFailedConnect     nats_library.natsOptions_SetRetryOnFailedConnect
#define natsOptions_SetSecure                   nats_library.natsOptions_SetSecure
#define natsOptions_SetServers                  nats_library.natsOptions_SetServers
#define natsOptions_SetTimeout                  nats_library.natsOptions_SetTimeout
#define natsOptions_SetURL                      nats_library.natsOptions_SetURL
#define natsOptions_SetUserCredentialsFromFiles nats_library.natsOptions_SetUserCredentialsFromFiles
#define natsOptions_SetUserInfo                 nats_library.natsOptions_SetUserInfo
#define natsOptions_SetWriteDeadline            nats_library.natsOptions_SetWriteDeadline
#define natsStatus_GetText                      nats_library.natsStatus_GetText
#define natsSubscription_Destroy                nats_library.natsSubscription_Destroy
#define natsSubscription_Drain                  nats_library.natsSubscription_Drain
#define natsSubscription_NextMsg                nats_library.natsSubscription_NextMsg
#define natsSubscription_SetOnCompleteCB        nats_library.natsSubscription_SetOnCompleteCB
#define natsSubscription_WaitForDrainCompletion nats_library.natsSubscription_WaitForDrainCompletion

/* Before what makes threads of the library, which live on: a signal that the program itself blocks, to take it in order, would be taken by
 * one of them, and end the program. pthread_sigmask(SIG_SETMASK, ret_before) ends it. */
static inline void nats_library_without_signals(sigset_t *ret_before)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, ret_before);
}

/* The first request makes a thread, too. */
static inline natsStatus nats_library_request(natsMsg **ret_reply, natsConnection *connection,
                                              const char *subject, const char *text,
                                              int64_t timeout_ms)
{
    sigset_t before;

    nats_library_without_signals(&before);
    natsStatus status =
        natsConnection_RequestString(ret_reply, connection, subject, text, timeout_ms);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}
#endif

#endif
